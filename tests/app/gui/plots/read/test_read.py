"""Reading: crosshair and marks by mouse and keys, fine bins, and what is lit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.cases.round import MEASURED
from app.gui.plots.base import PlotView
from app.gui.plots.distributions import BoxesView, PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.matrix import MatrixView
from app.gui.plots.read.bins import Grid, grid_for, tick_ns
from app.gui.plots.read.reading import Brush, Lit, Span
from app.gui.plots.read.readout import brush_text, lit_text
from app.gui.plots.timeline import TimelineView
from app.gui.view_commands import export_png
from app.stats.quantiles import EDGES_S
from tests.app.gui.plots.views import LEFT, at, drag, finished, hover, live, on_screen, redraw
from tests.app.gui.synthetic import of_rounds, open_loop, records, series
from tests.app.gui.windows import activate


def test_the_histogram_tells_bin_count_share_and_rank(qtbot: QtBot) -> None:
    case_series = series(count=5000, finished=False)
    view = on_screen(qtbot, HistogramView(), [case_series])
    number = int(np.argmax(case_series.counts))
    middle = 0.5 * (np.log10(EDGES_S[number]) + np.log10(EDGES_S[number + 1]))
    readout = hover(view, at(view, middle, 1.0))
    measured = np.concatenate(case_series.rounds)
    measured = measured[measured["phase"] == MEASURED]
    latency = measured["finished_ns"] - measured["started_ns"]
    edges_s = view.panel.drawn[0].bins.edges_s
    k = int(np.searchsorted(edges_s, 10.0**middle, side="right")) - 1
    low, high = edges_s[k : k + 2] * 1e9
    assert f"{int(((latency >= low) & (latency < high)).sum()):,} samples" in readout
    assert f"slower than {100.0 * float((latency < low).mean()):.1f}"[:-1] in readout
    # To a pixel: the plot is over a thousand of them wide, for less than a decade.
    assert float(readout.partition(" µs")[0]) == pytest.approx(10.0**middle * 1e6, rel=0.005)


def test_a_click_pins_what_is_read_and_escape_lets_go(qtbot: QtBot) -> None:
    view = on_screen(qtbot, PercentileView(), live()[:1])
    activate(qtbot, view)
    where = at(view, 1.0, np.log10(25e-6))
    first = hover(view, where)
    QTest.mouseClick(view.canvas.viewport(), LEFT, pos=where)
    assert view.crosshair.pinned
    assert hover(view, where + QPoint(90, 0)) == first, "it does not follow the mouse any more"
    QTest.keyClick(view.canvas, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == first
    QTest.keyClick(view.canvas, Qt.Key.Key_Escape)
    assert not view.crosshair.pinned and not view.crosshair.box.isVisible()
    assert hover(view, where + QPoint(90, 0)) != first


def test_the_timeline_reads_the_sample_that_is_pointed_at(qtbot: QtBot) -> None:
    case_series = series(count=3000, rounds=2, tail=0.0)
    first, second = case_series.rounds
    for field, begin in (("finished_ns", 1500), ("started_ns", 1501)):
        second[field][begin:] += 900_000
    view = on_screen(qtbot, TimelineView(), [case_series])
    since_s = (second["started_ns"][1500] - second["started_ns"][0]) * 1e-9
    x = (first["finished_ns"][-1] - first["started_ns"][0]) * 1e-9 + since_s
    readout = hover(view, at(view, x, np.log10(920e-6)))
    assert readout.startswith("iteration 1,500 of round 2")
    assert "measured" in readout and f"{since_s:.6f} s" in readout
    for key, number in ((Qt.Key.Key_Right, "1,501"), (Qt.Key.Key_Left, "1,500")):
        QTest.keyClick(view.canvas, key)
        assert view.crosshair.box.plain.startswith(f"iteration {number} of round 2")


@pytest.mark.parametrize("view_class", [HistogramView, TimelineView])
def test_shift_and_the_mouse_mark_a_range_which_says_what_is_in_it_and_is_in_pictures(
    qtbot: QtBot, view_class: type[PlotView], tmp_path: Path
) -> None:
    view = on_screen(qtbot, view_class(), live()[:1])

    def picture() -> bytes:
        export_png(view, tmp_path / "plot.png", scale=1.0)
        return (tmp_path / "plot.png").read_bytes()

    brushes: list[Brush] = []
    view.brushed.connect(brushes.append)
    view.brushed.connect(lambda brush: view.show_brush(Lit(brush) if brush else None))
    (left, right), (low, high) = whole = view.plots[0].viewRange()
    middle, is_bins = 0.5 * (low + high), view_class is HistogramView
    unmarked = picture()
    QTest.mouseClick(view.canvas.viewport(), LEFT, pos=at(view, right - 0.01, middle))
    assert picture() == unmarked, "a picture has no crosshair"
    ends = np.log10((25e-6, 40e-6)) if is_bins else (left + 0.2 * (right - left), right)
    drag(view, at(view, ends[0], middle), at(view, ends[1], middle))
    view.refresh()
    assert len(brushes) >= 2, "the range is told while it is drawn"
    assert view.lit is not None and picture() != unmarked
    assert f"{view.lit.of(view.series[0]).samples:,} samples" in view.crosshair.box.plain
    if is_bins:
        assert view.plots[0].viewRange()[0] == whole[0], "a plain drag moves the plot"
        width = (right - left) / view.plots[0].getViewBox().sceneBoundingRect().width()
        told = np.log10((brushes[-1].low_s, brushes[-1].high_s))
        assert told == pytest.approx(ends, abs=2 * width)
    view.drop_readout()
    view.refresh()
    assert view.lit is None and not view.crosshair.box.isVisible()


def test_a_click_on_a_mark_picks_its_case_and_ctrl_adds(qtbot: QtBot) -> None:
    view = on_screen(qtbot, MatrixView(), finished())
    where = at(view, 0.0, 1.0)
    hover(view, where)
    assert view.crosshair.reading is not None
    keys = view.crosshair.reading.keys
    assert [item.model for item in view.series if item.key in keys] == ["vgg16"]
    with qtbot.waitSignal(view.picked) as blocker:
        QTest.keyClick(view.canvas, Qt.Key.Key_Return)
    assert blocker.args == [keys, False]
    for modifier in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
        with qtbot.waitSignal(view.picked) as blocker:
            QTest.mouseClick(view.canvas.viewport(), LEFT, modifier, where)
        assert blocker.args == [keys, modifier == Qt.KeyboardModifier.ControlModifier]


def test_a_double_click_on_a_percentile_opens_the_iterations_behind_it(qtbot: QtBot) -> None:
    case_series = series(count=5000)
    view = on_screen(qtbot, BoxesView(), [case_series])
    header, rows = view.table()
    place = float(np.log10(float(str(rows[0][header.index("p99_us")])) * 1e-6))
    brushes: list[Brush] = []
    view.brushed.connect(brushes.append)
    with qtbot.waitSignal(view.opened) as blocker:
        QTest.mouseDClick(view.canvas.viewport(), LEFT, pos=at(view, place, 0.0))
    assert blocker.args == [case_series.key]
    (brush,) = brushes
    assert brush.low_s == pytest.approx(10.0**place) and brush.keys == (case_series.key,)
    assert Lit(brush).of(case_series).share == pytest.approx(0.01, rel=0.3)


def _make_series(latency_ns: np.ndarray) -> Series:
    return of_rounds(series(count=10, rounds=1), [records(latency_ns)], finished=False)


def _wait_for_fine(view: HistogramView, qtbot: QtBot, than: str = "") -> None:
    def has_fine_bins() -> bool:
        view.refresh()
        return view._fine._errand is None and "bins" in view.heading._note.replace(than, "")

    qtbot.waitUntil(has_fine_bins, timeout=10_000)


def test_zooming_shows_finer_bins_and_not_wider_steps(qtbot: QtBot) -> None:
    case_series = series(count=40_000, finished=False, tail=0.3)
    view = on_screen(qtbot, HistogramView(), [case_series])
    _wait_for_fine(view, qtbot)
    coarse, note = view.panel.drawn[0].bins.grid, view.heading._note
    view.plots[0].getViewBox().sigRangeChangedManually.emit([True, True])
    view.plots[0].setXRange(np.log10(19.5e-6), np.log10(20.5e-6), padding=0)
    _wait_for_fine(view, qtbot, than=note)
    fine = view.panel.drawn[0].bins.grid
    assert coarse is not None and fine is not None
    middle = np.searchsorted(coarse.edges_s, 20e-6)
    assert fine.step * 1e-9 < coarse.edges_s[middle] - coarse.edges_s[middle - 1]


def test_what_a_round_adds_is_counted_into_the_same_bins_and_one_that_begins_anew_is_not_added(
    qtbot: QtBot,
) -> None:
    latency = _body(2450, 0.005, 30_000)  # less than two of the fixed bins
    view = on_screen(qtbot, HistogramView(), [_make_series(latency[:20_000])])
    _wait_for_fine(view, qtbot)
    for measured in (latency[:20_500], latency):
        redraw(view, [_make_series(measured)])
        (outline,) = view.panel.drawn
        assert outline.bins.grid is not None and outline.bins.total == len(measured)
        expected, _ = np.histogram(measured, outline.bins.edges_s * 1e9)
        assert np.abs(outline.bins.counts - expected).max() <= 1, "an edge is no whole nanosecond"
    redraw(view, [_make_series(latency[-500:])])
    assert view.panel.drawn[0].bins.counts.sum() == 500


WIDTH_PX = 1000.0


def _body(median_ns: float, spread: float, count: int, tick: int = 1) -> np.ndarray:
    latency_ns = np.random.default_rng(7).normal(median_ns, spread * median_ns, count)
    return np.rint(latency_ns / tick).astype(np.int64) * tick


def _grid(values: np.ndarray, low_s: float, high_s: float) -> Grid:
    grid = grid_for([values], low_s, high_s, WIDTH_PX)
    assert grid is not None
    return grid


def test_bins_of_a_narrow_range_follow_freedman_and_diaconis_in_whole_ticks() -> None:
    values = _body(20_000, 0.01, 8000, tick=10)
    low, high = np.quantile(values, (0.25, 0.75))
    rule = 2.0 * (high - low) / 8000 ** (1 / 3)
    grid = _grid(values, 19e-6, 21e-6)
    assert not grid.log and grid.step % 10 == 0
    # The next of 1, 2, 5, 10 … ticks is at most two and a half times what the rule asks for.
    assert rule <= grid.step <= 2.5 * rule


def test_a_coarse_clock_has_one_tick_in_each_bin_and_no_bin_is_narrower_than_two_pixels() -> None:
    values = _body(20_000, 0.01, 200_000, tick=40)
    grid = _grid(values, 19e-6, 21e-6)
    counts, _ = grid.count(values)
    filled_bins = np.flatnonzero(counts)
    assert tick_ns(values) == 40 and grid.step % 40 == 0
    middle = counts[filled_bins[0] : filled_bins[-1] + 1][3:-3]
    assert len(middle) > 5 and (middle > 0).all(), "no bin is empty for the clock's sake"
    for low_s, high_s in ((14e-6, 26e-6), (1e-6, 1e-3)):
        edges = _grid(_body(20_000, 0.1, 2_000_000), low_s, high_s).edges_s
        edges = edges[(edges >= low_s) & (edges <= high_s)]
        per_px = np.log10(high_s / low_s) / WIDTH_PX
        assert np.diff(np.log10(edges)).min() >= 1.98 * per_px


def test_samples_that_are_all_the_same_have_a_bin_of_one_tick_or_two_pixels() -> None:
    grid = _grid(np.full(500, 2480), 2.4e-6, 2.6e-6)
    counts, underflow = grid.count(np.full(500, 2480))
    assert counts.max() == 500 and underflow == 0
    assert grid_for([np.full(1, 2480)], 2.4e-6, 2.6e-6, WIDTH_PX) is None
    assert grid_for([np.full(9, 2480)], 1.0, 2.0, WIDTH_PX) is None, "none of them is seen"


US = 1000


def _case(*rounds: list[float], warmup: int = 0, key: str = "a") -> Series:
    """Rounds of samples of so many microseconds, back to back."""
    arrays = [records((np.array(us) * US).astype(np.int64), warmup=warmup) for us in rounds]
    return replace(series(key=key, count=10, rounds=1), rounds=tuple(arrays))


def test_a_range_has_the_measured_samples_from_its_low_end_to_below_its_high_one() -> None:
    case_series = _case([20, 21, 50, 20, 80], [20, 50, 20], warmup=1)
    selection = Lit(Brush("latency", 21e-6, 80e-6)).of(case_series)
    assert [indices.tolist() for indices in selection.rounds] == [[1, 2], [1]]
    assert (selection.samples, selection.of_samples) == (3, 6), "warm-up is not counted"
    assert selection.time_share == pytest.approx((21 + 50 + 50) / (21 + 50 + 20 + 80 + 50 + 20))


def test_iterations_of_a_round_are_lit_whatever_they_took() -> None:
    case_series = _case([20] * 10, [20] * 10, warmup=2)
    selection = Lit(Brush("latency", spans=(Span("a", 1, 0, 4), Span("b", 0, 0, 9)))).of(
        case_series
    )
    assert [indices.tolist() for indices in selection.rounds] == [[], [2, 3, 4]]
    assert Lit(Brush("latency", keys=("b",))).of(case_series).samples == 0


def test_a_range_of_latencies_is_shown_in_another_part_of_the_time() -> None:
    case_series = open_loop(30_000, count=300)
    selection = Lit(Brush("latency", 100e-6))
    queue, service = (selection.spent(case_series, part).ns for part in ("queue", "service"))
    spent = selection.of(case_series).spent.ns
    assert len(spent) == selection.of(case_series).samples > 0
    assert (queue + service).tolist() == spent.tolist()


def test_the_readout_says_samples_shares_rounds_and_the_period() -> None:
    quick, slow = [20.0] * 99, [8000.0]
    case_series = _case((quick + slow) * 5, (quick + slow))
    selection = Lit(Brush("latency", 1.2e-3, 30e-3)).of(case_series)
    time = 6 * 8000 / (6 * 8000 + 594 * 20)
    assert lit_text(selection) == (
        f"6 samples, 1.0 % of the samples, {100 * time:.0f} % of the time; 5 in round 1; "
        "every 9.98 ms"
    )
    span = Span("a", 1, 1200, 1300)
    assert brush_text(Brush("latency", spans=(span,))) == "iterations 1,200 to 1,300 of round 2"
    assert lit_text(Lit(Brush("latency", 1.0)).of(case_series)) == "no samples"
