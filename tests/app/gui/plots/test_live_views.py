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
    BoxesView,
    PercentileView,
    percentile_curve,
)
from app.gui.plots.histogram import HistogramView
from app.gui.plots.marks import mark_pen, percentile_marks, percentiles, published_marks
from app.gui.plots.style import legend_text, series_styles
from app.plot_data.series import ReferenceLine
from app.stats.quantiles import EDGES_S
from tests.app.gui.plots.views import PUBLISHED, live, on_screen
from tests.app.gui.synthetic import series, summary_of


def test_percentiles_are_provisional_until_the_raw_samples_are_summarised() -> None:
    measuring = series(finished=False, count=60_000)
    finished_series = series(finished=True, count=60_000)
    for early, late in zip(percentiles(measuring), percentiles(finished_series), strict=True):
        assert early.provisional and early.interval_s is None
        assert not late.provisional and late.interval_s is not None
        assert early.seconds == pytest.approx(late.seconds, rel=0.0125)
    color = QColor(LIGHT.text)
    assert all("~" in mark.text for mark in percentile_marks(measuring, color))
    assert not any("~" in mark.text for mark in percentile_marks(finished_series, color))
    assert mark_pen(color, "provisional").style() == Qt.PenStyle.DotLine
    assert mark_pen(color, "measured").style() == Qt.PenStyle.SolidLine


def test_published_figures_are_told_once_and_called_published() -> None:
    marks = published_marks([series(references=[PUBLISHED]), series(references=[PUBLISHED])], LIGHT)
    assert [mark.text for mark in marks] == ["published mean 2.50 µs, V80, sdk26"]
    assert marks[0].value == pytest.approx(2.5e-6)


def test_simulated_series_are_drawn_and_told_differently() -> None:
    wall_series, _, simulated = live()
    styles = series_styles([wall_series, simulated], LIGHT)
    assert styles[wall_series.key].pen().style() == Qt.PenStyle.SolidLine
    assert styles[simulated.key].pen().style() == Qt.PenStyle.CustomDashLine
    assert styles[wall_series.key].fill().style() == Qt.BrushStyle.SolidPattern
    assert styles[simulated.key].fill().style() == Qt.BrushStyle.BDiagPattern
    assert legend_text(simulated).endswith("(simulated)")
    assert legend_text(wall_series).endswith("(wall clock)")


def test_the_histogram_spans_all_samples_and_published_figures(qtbot: QtBot) -> None:
    far = ReferenceLine("V80", "mean", 0.9, "tables")
    view = on_screen(qtbot, HistogramView(), [replace(live()[0], published=(far,))])
    low, high = view.plots[0].viewRange()[0]
    filled_bins = np.nonzero(view.series[0].counts)[0]
    assert low < math.log10(0.9e-6)
    assert high > math.log10(EDGES_S[filled_bins[-1] + 1])


def test_a_zoomed_plot_stays_where_it_is_while_samples_arrive(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), live()[:1])
    box = view.plots[0].getViewBox()
    box.sigRangeChangedManually.emit([True, True])
    view.plots[0].setXRange(-4.8, -4.7, padding=0)
    view.set_series([replace(live()[0], counts=live()[0].counts * 2)])
    view.refresh()
    assert view.plots[0].viewRange()[0] == pytest.approx([-4.8, -4.7])
    view.fit()
    assert view.plots[0].viewRange()[0] != pytest.approx([-4.8, -4.7])


def test_the_keyboard_zooms_moves_and_shows_all(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), live())
    with qtbot.waitActive(view):
        view.activateWindow()
    view.published_box.setFocus()
    whole = view.plots[0].viewRange()[0]
    QTest.keyClick(view.published_box, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    zoomed_range = view.plots[0].viewRange()[0]
    assert zoomed_range[1] - zoomed_range[0] < 0.9 * (whole[1] - whole[0])
    QTest.keyClick(view.published_box, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert view.plots[0].viewRange()[0][0] > zoomed_range[0]
    QTest.keyClick(view.published_box, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert view.plots[0].viewRange()[0] == pytest.approx(whole)


def test_the_percentile_curve_ends_where_the_samples_no_longer_bound_it() -> None:
    few, many = series(count=200, rounds=1), series(count=20_000, rounds=2)
    assert percentile_curve(few.counts)[0][-1] < 2.0
    nines, log_s = percentile_curve(many.counts)
    assert 3.0 < nines[-1] < 4.1
    at_p99 = 10.0 ** np.interp(2.0, nines, log_s) * 1e6
    assert at_p99 == pytest.approx(summary_of(many).pooled["p99"], rel=0.03)


def test_percentiles_and_boxes_tell_what_they_draw_as_numbers(qtbot: QtBot) -> None:
    case_series = series(count=5000)
    curve = on_screen(qtbot, PercentileView(), [case_series])
    header, rows = curve.table()
    p99 = next(row for row in rows if row[2] == pytest.approx(99.0))
    assert p99[header.index("latency_us")] == pytest.approx(summary_of(case_series).value_us("p99"))
    boxes = on_screen(qtbot, BoxesView(), [case_series])
    names, values = boxes.table()
    p50 = values[0][names.index("p50_us")]
    assert p50 == pytest.approx(summary_of(case_series).pooled["p50"], rel=0.0125)
