"""Fine bins in the histogram: they come from the raw samples, and follow zoom and growth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.gui.plots.histogram import HistogramView
from app.plot_data.series import Series
from app.stats.quantiles import EDGES_S, Histogram
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import open_loop, records, series


def _tight(count: int = 20_000) -> Series:
    """Samples of 2,400 to 2,500 ns: less than two of the fixed bins."""
    latency = np.rint(np.random.default_rng(5).normal(2450, 12, count)).astype(np.int64)
    return _make_series(latency)


def _make_series(latency_ns: np.ndarray) -> Series:
    histogram = Histogram()
    histogram.add(latency_ns)
    one = series(count=10, rounds=1, finished=False)
    return replace(one, counts=histogram.counts, rounds=(records(latency_ns),))


def _steps(view: HistogramView) -> int:
    """How many bins with samples are drawn."""
    return int((view.outlined._drawn[0].bins.counts > 0).sum())


def _wait_for_fine(view: HistogramView, qtbot: QtBot, than: str = "") -> None:
    def has_fine_bins() -> bool:
        view.refresh()
        return view._fine._question is None and "bins" in view.heading._note.replace(than, "")

    qtbot.waitUntil(has_fine_bins, timeout=10_000)


def test_a_tight_distribution_has_more_than_a_few_steps(qtbot: QtBot) -> None:
    case_series = _tight()
    view = on_screen(qtbot, HistogramView(), [case_series])
    _wait_for_fine(view, qtbot)
    assert _steps(view) > 20 > 8 * int((case_series.counts > 0).sum()) / 2
    assert view.heading._note.endswith(" ns")
    (outline,) = view.outlined._drawn
    assert outline.bins.counts.sum() == len(case_series.rounds[0]) == outline.bins.total


def test_fixed_bins_stand_in_until_there_are_others(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), [_tight()])
    assert len(view.outlined._drawn[0].bins.edges_s) == len(EDGES_S)
    assert "bins" not in view.heading._note


def test_zooming_shows_finer_bins_and_not_wider_steps(qtbot: QtBot) -> None:
    case_series = series(count=40_000, finished=False, tail=0.3)
    view = on_screen(qtbot, HistogramView(), [case_series])
    _wait_for_fine(view, qtbot)
    coarse, note = view.outlined._drawn[0].bins.grid, view.heading._note
    view.plots[0].getViewBox().sigRangeChangedManually.emit([True, True])
    view.plots[0].setXRange(np.log10(19.5e-6), np.log10(20.5e-6), padding=0)
    _wait_for_fine(view, qtbot, than=note)
    fine = view.outlined._drawn[0].bins.grid
    assert coarse is not None and fine is not None
    middle = np.searchsorted(coarse.edges_s, 20e-6)
    assert fine.step * 1e-9 < coarse.edges_s[middle] - coarse.edges_s[middle - 1]


def test_what_a_round_adds_is_counted_into_the_same_bins(qtbot: QtBot) -> None:
    whole = _tight(30_000)
    latency = whole.rounds[0]["finished_ns"] - whole.rounds[0]["started_ns"]
    view = on_screen(qtbot, HistogramView(), [_make_series(latency[:20_000])])
    _wait_for_fine(view, qtbot)
    for end in (20_500, 30_000):
        view.set_series([_make_series(latency[:end])])
        view.refresh()
        (outline,) = view.outlined._drawn
        assert outline.bins.grid is not None and outline.bins.total == end
        expected, _ = np.histogram(latency[:end], outline.bins.edges_s * 1e9)
        assert np.abs(outline.bins.counts - expected).max() <= 1, "an edge is no whole nanosecond"


def test_a_round_that_is_measured_again_is_not_added_to_what_was(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), [_tight()])
    _wait_for_fine(view, qtbot)
    view.set_series([_tight(500)])
    view.refresh()
    assert view.outlined._drawn[0].bins.counts.sum() == 500


@pytest.mark.parametrize("part", ["service", "queue"])
def test_parts_of_an_open_loop_have_fine_bins_too(qtbot: QtBot, part: str) -> None:
    case_series = open_loop(20_000)
    view = on_screen(qtbot, HistogramView(), [case_series])
    view.part_choice.choose(part)
    _wait_for_fine(view, qtbot)
    (outline,) = view.outlined._drawn
    assert outline.bins.total == sum(map(len, case_series.rounds))
