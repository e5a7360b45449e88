"""The crosshair: what is read is what was measured, by mouse, by keys, and as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.gui.plots.base import PlotView
from app.gui.plots.distributions import BoxesView, PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.matrix import MatrixView
from app.gui.plots.read.lit import Lit
from app.gui.plots.read.reading import Brush
from app.gui.plots.timeline import TimelineView
from app.gui.view_commands import export_png
from app.stats.quantiles import EDGES_S
from tests.app.gui.plots.views import LEFT, at, drag, finished, hover, live, on_screen
from tests.app.gui.synthetic import series


def test_the_histogram_tells_bin_count_share_and_rank(qtbot: QtBot) -> None:
    case_series = series(count=5000, finished=False)
    view = on_screen(qtbot, HistogramView(), [case_series])
    number = int(np.argmax(case_series.counts))
    middle = 0.5 * (np.log10(EDGES_S[number]) + np.log10(EDGES_S[number + 1]))
    readout = hover(view, at(view, middle, 1.0))
    latency = np.concatenate([r["finished_ns"] - r["started_ns"] for r in case_series.rounds])
    latency = latency[np.concatenate([r["phase"] for r in case_series.rounds]) == 1]
    bins = view.panel.drawn[0].bins
    k = int(np.searchsorted(bins.edges_s, 10.0**middle, side="right")) - 1
    low, high = bins.edges_s[k : k + 2] * 1e9
    count = int(((latency >= low) & (latency < high)).sum())
    faster = 100.0 * float((latency < low).mean())
    assert f"{count:,} samples" in readout
    assert f"slower than {faster:.1f}"[:-1] in readout
    # To a pixel: the plot is over a thousand of them wide, for less than a decade.
    assert float(readout.partition(" µs")[0]) == pytest.approx(10.0**middle * 1e6, rel=0.005)


def test_a_click_pins_what_is_read_and_escape_lets_go(qtbot: QtBot) -> None:
    view = on_screen(qtbot, PercentileView(), live()[:1])
    with qtbot.waitActive(view):
        view.activateWindow()
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
    case_series.rounds[1]["finished_ns"][1500] += 900_000
    case_series.rounds[1]["started_ns"][1501:] += 900_000
    case_series.rounds[1]["finished_ns"][1501:] += 900_000
    view = on_screen(qtbot, TimelineView(), [case_series])
    starts = case_series.rounds[1]["started_ns"]
    length = (
        case_series.rounds[0]["finished_ns"][-1] - case_series.rounds[0]["started_ns"][0]
    ) * 1e-9
    x = length + (starts[1500] - starts[0]) * 1e-9
    readout = hover(view, at(view, x, np.log10(920e-6)))
    assert readout.startswith("iteration 1,500 of round 2")
    assert "measured" in readout and f"{(starts[1500] - starts[0]) * 1e-9:.6f} s" in readout
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    assert view.crosshair.box.plain.startswith("iteration 1,501 of round 2")
    QTest.keyClick(view.canvas, Qt.Key.Key_Left)
    QTest.keyClick(view.canvas, Qt.Key.Key_Left)
    assert view.crosshair.box.plain.startswith("iteration 1,499 of round 2")


def test_shift_and_the_mouse_mark_a_range_and_a_plain_drag_moves_the_plot(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), live()[:1])
    brushes: list[Brush] = []
    view.brushed.connect(brushes.append)
    whole = view.plots[0].viewRange()[0]
    drag(view, at(view, np.log10(25e-6), 1.0), at(view, np.log10(40e-6), 1.0))
    assert view.plots[0].viewRange()[0] == whole
    width = (whole[1] - whole[0]) / view.plots[0].getViewBox().sceneBoundingRect().width()
    assert np.log10(brushes[-1].low_s) == pytest.approx(np.log10(25e-6), abs=2 * width)
    assert np.log10(brushes[-1].high_s) == pytest.approx(np.log10(40e-6), abs=2 * width)
    assert len(brushes) >= 2, "the range is told while it is drawn"


@pytest.mark.parametrize("view_class", [HistogramView, TimelineView])
def test_views_with_samples_can_be_marked_and_say_what_is_in_it(
    qtbot: QtBot, view_class: type[PlotView]
) -> None:
    view = on_screen(qtbot, view_class(), live()[:1])
    view.brushed.connect(lambda brush: view.show_brush(Lit(brush) if brush else None))
    (left, right), (low, high) = view.plots[0].viewRange()
    middle = 0.5 * (low + high)
    image_before = view.canvas.grab().toImage()
    drag(view, at(view, left + 0.2 * (right - left), middle), at(view, right, middle))
    view.refresh()
    assert view.lit is not None
    assert f"{view.lit.of(view.series[0]).samples:,} samples" in view.crosshair.box.plain
    assert view.canvas.grab().toImage() != image_before
    view.drop_readout()
    view.refresh()
    assert view.lit is None and not view.crosshair.box.isVisible()


def test_a_click_on_a_mark_picks_its_case_and_ctrl_adds(qtbot: QtBot) -> None:
    view = on_screen(qtbot, MatrixView(), finished())
    where = at(view, 0.0, 1.0)
    hover(view, where)
    assert view.crosshair.reading is not None
    keys = view.crosshair.reading.keys
    assert [case_series.model for case_series in view.series if case_series.key in keys] == [
        "vgg16"
    ]
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


def test_a_picture_of_a_view_has_the_marked_range_and_no_crosshair(
    qtbot: QtBot, tmp_path: Path
) -> None:
    view = on_screen(qtbot, PercentileView(), live()[:1])
    export_png(view, tmp_path / "before.png", scale=1.0)
    QTest.mouseClick(view.canvas.viewport(), LEFT, pos=at(view, 1.0, np.log10(25e-6)))
    export_png(view, tmp_path / "pinned.png", scale=1.0)
    assert (tmp_path / "pinned.png").read_bytes() == (tmp_path / "before.png").read_bytes()
    assert view.crosshair.pinned and view.crosshair.box.isVisible()
    view.show_brush(Lit(Brush("latency", 25e-6)))
    export_png(view, tmp_path / "marked.png", scale=1.0)
    assert (tmp_path / "marked.png").read_bytes() != (tmp_path / "before.png").read_bytes()
