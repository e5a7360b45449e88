"""The views that follow a measurement: what they draw is what was measured."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT
from app.gui.plots.distributions import (
    percentile_curve,
)
from app.gui.plots.histogram import HistogramView
from app.gui.plots.marks import mark_pen, percentile_marks, percentiles, published_marks
from app.plot_data.series import ReferenceLine
from app.stats.quantiles import EDGES_S
from tests.app.gui.plots.views import PUBLISHED, live, on_screen
from tests.app.gui.synthetic import series, summary_of


def test_marks_are_provisional_until_the_samples_are_summarised() -> None:
    measuring = series(finished=False, count=60_000)
    finished_series = series(finished=True, count=60_000)
    for early, late in zip(percentiles(measuring), percentiles(finished_series), strict=True):
        assert early.provisional and early.interval_s is None
        assert early.label.startswith("pooled ")
        assert not late.provisional and late.interval_s is not None
        assert early.seconds == pytest.approx(late.seconds, rel=0.0125)
    color = QColor(LIGHT.text)
    assert all("~" in mark.text for mark in percentile_marks(measuring, color))
    assert not any("~" in mark.text for mark in percentile_marks(finished_series, color))
    assert mark_pen(color, "provisional").style() == Qt.PenStyle.DotLine
    assert mark_pen(color, "measured").style() == Qt.PenStyle.SolidLine
    (mark,) = published_marks([series(references=[PUBLISHED])] * 2, LIGHT)
    assert mark.text == "published mean 2.50 µs, V80, sdk26"
    assert mark.value == pytest.approx(2.5e-6)


def test_a_zoomed_plot_stays_where_it_is_while_samples_arrive_and_keys_zoom_and_move(
    qtbot: QtBot,
) -> None:
    far = ReferenceLine("V80", "mean", 0.9, "tables")
    cases = [replace(live()[0], published=(far,))]
    view = on_screen(qtbot, HistogramView(), cases)
    plot = view.plots[0]
    whole = plot.viewRange()[0]
    filled_bins = np.nonzero(view.series[0].counts)[0]
    assert whole[0] < math.log10(0.9e-6), "published figures are in view"
    assert whole[1] > math.log10(EDGES_S[filled_bins[-1] + 1])
    plot.getViewBox().sigRangeChangedManually.emit([True, True])
    plot.setXRange(-4.8, -4.7, padding=0)
    view.set_series([replace(cases[0], counts=cases[0].counts * 2)])
    view.refresh()
    assert plot.viewRange()[0] == pytest.approx([-4.8, -4.7])
    view.fit()
    whole = plot.viewRange()[0]
    assert whole != pytest.approx([-4.8, -4.7])
    with qtbot.waitActive(view):
        view.activateWindow()
    box, ctrl = view.published_box, Qt.KeyboardModifier.ControlModifier
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Plus, ctrl)
    zoomed_range = plot.viewRange()[0]
    assert zoomed_range[1] - zoomed_range[0] < 0.9 * (whole[1] - whole[0])
    QTest.keyClick(box, Qt.Key.Key_Right, ctrl)
    assert plot.viewRange()[0][0] > zoomed_range[0]
    QTest.keyClick(box, Qt.Key.Key_0, ctrl)
    assert plot.viewRange()[0] == pytest.approx(whole)


def test_the_percentile_curve_ends_where_the_samples_no_longer_bound_it() -> None:
    few, many = series(count=200, rounds=1), series(count=20_000, rounds=2)
    assert percentile_curve(few.counts)[0][-1] < 2.0
    nines, log_s = percentile_curve(many.counts)
    assert 3.0 < nines[-1] < 4.1
    at_p99 = 10.0 ** np.interp(2.0, nines, log_s) * 1e6
    assert at_p99 == pytest.approx(summary_of(many).pooled["p99"], rel=0.03)
