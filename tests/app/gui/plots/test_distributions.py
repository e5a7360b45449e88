"""Distributions and their parts: what is drawn and told is what was measured."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import ReferenceLine, Series
from app.cases.scenario import Scenario
from app.formatting.text import time_text
from app.gui.look.theme import LIGHT
from app.gui.plots.base import PlotView
from app.gui.plots.distributions import percentile_curve
from app.gui.plots.histogram import HistogramView
from app.gui.plots.marks import MarkLayer, percentile_marks, percentiles, published_marks
from app.gui.plots.read.bins import PartChoice
from app.gui.plots.read.curves import PercentileReader
from app.gui.plots.read.reading import Place, SpotReader
from app.gui.views import VIEWS, ViewSpec
from app.stats.quantiles import EDGES_S
from tests.app.gui.plots.views import PUBLISHED, live, on_screen, redraw
from tests.app.gui.synthetic import (
    latencies_ns,
    of_rounds,
    records,
    series,
    served,
    summary_of,
    with_figures,
)
from tests.app.gui.windows import activate

MS = 1_000_000
RUNS = 101


def _make_overload() -> Series:
    """One run is due each millisecond and takes two: the k-th waits k ms."""
    one = series(key="overloaded", count=1, rounds=1)
    case = replace(one.case, scenario=Scenario.parse("rate:1000/s"))
    rows = served(np.full(RUNS, 2 * MS), np.arange(RUNS) * MS)
    return of_rounds(replace(one, case=case), [rows], finished=False)


def _choice(view: PlotView) -> PartChoice:
    return next(iter(view.findChildren(PartChoice)))


def _shown(view: HistogramView, part: str = "") -> list[float]:
    """The ends of the bins that hold samples of this part, in milliseconds."""
    if part:
        _choice(view).choose(part)
    _, rows = view.table()
    return sorted(value / 1e3 for row in rows for value in row[2:4] if isinstance(value, float))


def test_the_histogram_shows_latency_service_and_queueing_of_an_open_loop(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), [_make_overload()])
    assert _choice(view).isVisible()
    assert "from when runs were due" in view.heading._note
    latency, service, queue = (_shown(view, part) for part in ("", "service", "queue"))
    assert (latency[0], latency[-1]) == pytest.approx((2.0, 102.0), rel=0.03)
    assert (service[0], service[-1]) == pytest.approx((2.0, 2.0), rel=0.03)
    assert queue[-1] == pytest.approx(100.0, rel=0.03)
    assert sum(int(str(row[4])) for row in view.table()[1]) == RUNS, "a wait of none counts too"


def test_a_closed_loop_has_no_parts_to_choose(qtbot: QtBot) -> None:
    closed, opened = series(count=400), _make_overload()
    view = on_screen(qtbot, HistogramView(), [closed])
    assert not _choice(view).isVisible()
    redraw(view, [closed, opened])
    _choice(view).choose("queue")
    assert {row[0] for row in view.table()[1]} == {opened.label}
    redraw(view, [closed])
    assert view.table()[1], "what was chosen for open loops hides no closed one"


LEVELS_US = (10.0, 20.0, 80.0)
"""Of three rounds: their typical median is far from the median of all samples."""
NAMES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p999"}
_FIGURE = re.compile(r"(?<!pooled )\b(p50|p90|p99\.9|p99)[: ]+(~?[\d.,]+ (?:ns|µs|ms|s))")


def uneven(key: str = "a", runtime: str = "ort-cpu", factor: float = 1.0) -> Series:
    """A case whose rounds run at different speeds, with the row that it comes to."""
    base = series(runtime, "mlp", key=key, count=10, rounds=1, batch_size=2 if key == "b" else 1)
    levels = [latencies_ns(us * factor, 4_000, place + 1) for place, us in enumerate(LEVELS_US)]
    whole = with_figures(of_rounds(base, [records(level) for level in levels]), NAMES.values())
    median = whole.row["latency_p50_us"]
    assert isinstance(median, float)
    row = {"throughput_per_s": 1e6 / median, "precision": "fp32", "valid": True}
    return replace(whole, row={**whole.row, **row})


CASES = [uneven("a"), uneven("b", factor=2.0), uneven("c", "openvino-cpu", 1.5)]
SERIES_VIEWS = [spec for spec in VIEWS if spec.fed in ("shown", "all")]


def _drawn_texts(view: PlotView) -> Iterator[tuple[str, str]]:
    """(key, text) of marks and of all that is read at the marks of a case."""
    for layer in view._layers:
        if isinstance(layer, MarkLayer):
            yield from (("a", mark.text) for mark in layer.marks)
    for reader in view.crosshair._readers.values():
        if isinstance(reader, SpotReader):
            for spot in reader._spots:
                yield from ((spot.keys[0], line) for line in spot.lines if len(spot.keys) == 1)
        if isinstance(reader, PercentileReader):
            for curve in reader._curves:
                percentile_reader = PercentileReader([curve])
                for x, *_ in curve.known:
                    reading = percentile_reader.at(Place(x, curve.height(x), (0.01, 0.01)))
                    assert reading is not None
                    yield from ((curve.key, line.text) for line in reading.lines)


@pytest.mark.parametrize("spec", SERIES_VIEWS, ids=lambda spec: spec.key)
def test_every_figure_that_a_view_shows_under_a_name_is_the_rows(
    qtbot: QtBot, spec: ViewSpec
) -> None:
    view = spec.make()
    cases = CASES[:1] if isinstance(view, HistogramView) else CASES
    on_screen(qtbot, view, cases)
    by_key = {case_series.key: case_series.row for case_series in cases}
    for key, text in _drawn_texts(view):
        for name, figure_text in _FIGURE.findall(text):
            value = by_key[key][f"latency_{NAMES[name]}_us"]
            assert isinstance(value, float)
            assert figure_text in [time_text(value * 1e-6, digits) for digits in (3, 4)], text
    header, rows = view.table()
    for name in NAMES.values():
        values = [case.row[f"latency_{name}_us"] for case in cases]
        for place in (k for k, c in enumerate(header) if c in (f"{name}_us", f"latency_{name}_us")):
            for line in rows:
                assert line[place] is None or any(line[place] == pytest.approx(v) for v in values)


def test_marks_are_provisional_until_the_samples_are_summarised() -> None:
    measuring = series(finished=False, count=60_000)
    finished_series = series(finished=True, count=60_000)
    for early, late in zip(percentiles(measuring), percentiles(finished_series), strict=True):
        assert early.provisional and early.interval_s is None
        assert early.label.startswith("pooled ")
        assert not late.provisional and late.interval_s is not None
        assert early.seconds == pytest.approx(late.seconds, rel=0.0125)
    color = QColor(LIGHT.text)
    for case, is_early in ((measuring, True), (finished_series, False)):
        assert {"~" in mark.text for mark in percentile_marks(case, color)} == {is_early}
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
    assert whole[0] < math.log10(0.9e-6), "published figures are in view"
    assert whole[1] > math.log10(EDGES_S[np.nonzero(view.series[0].counts)[0][-1] + 1])
    plot.getViewBox().sigRangeChangedManually.emit([True, True])
    plot.setXRange(-4.8, -4.7, padding=0)
    redraw(view, [replace(cases[0], counts=cases[0].counts * 2)])
    assert plot.viewRange()[0] == pytest.approx([-4.8, -4.7])
    view.fit()
    whole = plot.viewRange()[0]
    activate(qtbot, view)
    box, ctrl = view.published_box, Qt.KeyboardModifier.ControlModifier
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Plus, ctrl)
    zoomed = plot.viewRange()[0]
    assert zoomed[1] - zoomed[0] < 0.9 * (whole[1] - whole[0])
    QTest.keyClick(box, Qt.Key.Key_Right, ctrl)
    assert plot.viewRange()[0][0] > zoomed[0]
    QTest.keyClick(box, Qt.Key.Key_0, ctrl)
    assert plot.viewRange()[0] == pytest.approx(whole)


def test_the_percentile_curve_ends_where_the_samples_no_longer_bound_it() -> None:
    few, many = series(count=200, rounds=1), series(count=20_000, rounds=2)
    assert percentile_curve(few.counts)[0][-1] < 2.0
    nines, log_s = percentile_curve(many.counts)
    assert 3.0 < nines[-1] < 4.1
    at_p99 = 10.0 ** np.interp(2.0, nines, log_s) * 1e6
    assert at_p99 == pytest.approx(summary_of(many).pooled["p99"], rel=0.03)
