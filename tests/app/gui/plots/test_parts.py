"""Open loops in the distribution views: what a user waits, and what of it is queueing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.round import RECORD
from app.cases.scenario import Scenario
from app.gui.plots.base import PlotView
from app.gui.plots.distributions import CumulativeView, PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.parts import PartChoice
from app.gui.plots.timeline import TimelineView
from app.plot_data.series import Series, part_ns
from app.stats.quantiles import Histogram
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import failed, open_loop, series, served

MS = 1_000_000
RUNS = 101


def _make_overload() -> Series:
    """One run is due each millisecond and takes two: the k-th waits k ms."""
    rows = served(np.full(RUNS, 2 * MS), np.arange(RUNS) * MS)
    histogram = Histogram()
    histogram.add(rows["finished_ns"] - rows["scheduled_ns"])
    case = Case("cnn_tiny", "ort-cpu", scenario=Scenario.parse("rate:1000/s"))
    one = series(key="overloaded", count=1, rounds=1, finished=False)
    return replace(one, case=case, rounds=(rows,), counts=histogram.counts)


def _choice(view: PlotView) -> PartChoice:
    return next(iter(view.findChildren(PartChoice)))


def _visible_range(view: HistogramView) -> tuple[float, float]:
    """The latencies between which all samples lie, in milliseconds."""
    _, rows = view.table()
    ends = [value for row in rows for value in row[2:4] if isinstance(value, float)]
    return min(ends) / 1e3, max(ends) / 1e3


def test_the_parts_of_an_overloaded_loop_are_those_of_its_queue() -> None:
    (rows,) = _make_overload().rounds
    due = np.arange(RUNS) * MS
    assert np.array_equal(part_ns(rows, "queue", True), due)
    assert np.array_equal(part_ns(rows, "service", True), np.full(RUNS, 2 * MS))
    assert np.array_equal(part_ns(rows, "latency", True), due + 2 * MS)
    assert np.array_equal(part_ns(rows, "latency", False), np.full(RUNS, 2 * MS))


def test_the_histogram_shows_latency_service_and_queueing_of_an_open_loop(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), [_make_overload()])
    choice = _choice(view)
    assert choice.isVisible()
    assert "from when runs were due" in view.heading._note
    low, high = _visible_range(view)
    assert low <= 2.0 and high == pytest.approx(102.0, rel=0.03)
    choice.choose("service")
    low, high = _visible_range(view)
    assert (low, high) == pytest.approx((2.0, 2.0), rel=0.03)
    assert view.heading._title == "Service time histogram"
    assert view.table()[0][2:4] == ["service_from_us", "service_to_us"]
    choice.choose("queue")
    assert _visible_range(view)[1] == pytest.approx(100.0, rel=0.03)
    assert sum(int(str(row[4])) for row in view.table()[1]) == RUNS, "a wait of none counts too"


def test_bins_of_a_part_grow_with_the_round_and_begin_anew_with_it(qtbot: QtBot) -> None:
    whole = _make_overload()
    view = on_screen(qtbot, HistogramView(), [whole])
    _choice(view).choose("queue")
    for end in (40, RUNS, 10):
        view.set_series([replace(whole, rounds=(whole.rounds[0][:end],))])
        view.refresh()
        assert sum(int(str(row[4])) for row in view.table()[1]) == end


@pytest.mark.parametrize("view_class", [HistogramView, CumulativeView, TimelineView])
def test_a_closed_loop_has_no_parts_to_choose(qtbot: QtBot, view_class: type[PlotView]) -> None:
    view = on_screen(qtbot, view_class(), [series(count=400)])
    assert not _choice(view).isVisible()
    assert "due" not in view.heading._note
    view.set_series([series(count=400), _make_overload()])
    view.refresh()
    assert _choice(view).isVisible()
    _choice(view).choose("queue")
    assert {row[0] for row in view.table()[1]} == {_make_overload().label}
    view.set_series([series(count=400)])
    view.refresh()
    assert view.table()[1], "what was chosen for open loops hides no closed one"


def test_the_timeline_draws_what_was_waited_and_not_only_the_service(qtbot: QtBot) -> None:
    view = on_screen(qtbot, TimelineView(), [_make_overload()])
    header, rows = view.table()
    assert header[4] == "latency_us"
    assert rows[-1][4] == pytest.approx(102e3)
    low, high = view.plots[0].viewRange()[1]
    assert low <= np.log10(2e-3) and np.log10(0.102) <= high
    _choice(view).choose("service")
    assert view.table()[1][-1][4] == pytest.approx(2e3)
    assert view.heading._title == "Service over time"


def test_percentiles_say_what_an_open_loops_latency_counts_from(qtbot: QtBot) -> None:
    view = on_screen(qtbot, PercentileView(), [open_loop(5000)])
    assert "from when runs were due" in view.heading._note


def test_an_empty_round_of_an_open_loop_is_no_fault(qtbot: QtBot) -> None:
    empty = replace(_make_overload(), rounds=(np.zeros(0, RECORD),), counts=Histogram().counts)
    view = on_screen(qtbot, HistogramView(), [replace(empty, status="measuring")])
    _choice(view).choose("queue")
    assert "No samples yet" in view._missing.text()


@pytest.mark.parametrize(
    "view_class", [HistogramView, CumulativeView, PercentileView, TimelineView]
)
def test_a_run_in_which_all_failed_promises_no_samples(
    qtbot: QtBot, view_class: type[PlotView]
) -> None:
    view = on_screen(qtbot, view_class(), [series(count=400)])
    view.set_series([failed("ort-cpu", "mlp", "crashed", "killed by signal 11")])
    view.refresh()
    assert "None of these cases gave samples" in view._missing.text()
    assert view.heading._note == "", "nothing of the former run stays above it"
    view.set_series([failed("ort-cpu", "mlp", "waiting", "")])
    view.refresh()
    assert "yet" in view._missing.text()
