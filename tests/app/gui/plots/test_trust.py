"""Nothing misleads: what is doubted, wrong, simulated or left out is seen to be so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT, verdict_color
from app.gui.plots.compare import CompareView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.histogram_panels import OutlineLayer
from app.gui.plots.matrix import MatrixView
from app.gui.plots.style import legend_text, series_styles
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.plots.views import on_screen, side
from tests.app.gui.synthetic import series

BUSY = "more was running than this machine has cores: stop other work to trust the tail"


def _case(runtime: str, p50_us: float, clock: Clock = "wall", **row: object) -> Series:
    case_series = series(runtime, "m", key=runtime, count=20, rounds=1, clock=clock, finished=False)
    figures: dict[str, Any] = {"latency_p50_us": p50_us, "throughput_per_s": 1e6 / p50_us, **row}
    return replace(case_series, row={**case_series.row, "precision": "fp32", **figures})


def test_doubted_series_are_hollow_and_wrong_ones_crossed_out() -> None:
    sound, doubtful = series(key="a", count=50), series(key="b", count=50, warnings=BUSY)
    wrong = series(key="c", count=50, status="wrong_output")
    styles = series_styles([sound, doubtful, wrong], LIGHT)
    brush = Qt.BrushStyle
    fills = [styles[key].fill().style() for key in "abc"]
    assert fills == [brush.SolidPattern, brush.NoBrush, brush.DiagCrossPattern]
    dots = [styles[key].solid().style() for key in "abc"]
    assert dots == [brush.SolidPattern, brush.NoBrush, brush.NoBrush]
    descriptions = [
        legend_text(case_series).partition(" (")[2] for case_series in (sound, doubtful, wrong)
    ]
    assert descriptions == ["wall clock)", "wall clock, doubted)", "wall clock, wrong output)"]


def test_a_wrong_output_is_told_at_its_percentiles(qtbot: QtBot) -> None:
    wrong = series(key="c", count=2000, status="wrong_output")
    view = on_screen(qtbot, HistogramView(), [series(key="a", count=2000, seed=2), wrong])
    marks = [mark.text for mark in view.outlined.marks._marks if mark.text]
    assert sum("wrong output" in text for text in marks) == len(marks) // 2
    assert any("wrong output" in entry.text for entry in view.legend._entries)


def test_a_warning_that_comes_with_the_row_empties_what_was_filled(qtbot: QtBot) -> None:
    measuring = series(key="a", count=2000, finished=False)
    view = on_screen(qtbot, HistogramView(), [measuring])
    (layer,) = (outline for outline in view.outlined.outlines.values())
    assert isinstance(layer, OutlineLayer)
    assert layer._style.fill().style() == Qt.BrushStyle.SolidPattern
    view.set_series([replace(measuring, row={**measuring.row, "warnings": BUSY})])
    view.refresh()
    assert layer._style.fill().style() == Qt.BrushStyle.NoBrush


def test_the_heading_says_that_only_a_part_is_shown(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), [series(count=100)])
    view.show_part("12 of 24 selected cases shown")
    view.refresh()
    assert view.heading._note.startswith("12 of 24 selected cases shown; wall clock")
    view.set_series([])
    view.refresh()
    assert (view.heading._title, view.heading._note) == ("", ""), "nothing of a former run"


def test_samples_that_are_not_there_are_not_promised(qtbot: QtBot) -> None:
    empty_series = series(count=10)
    empty_series = replace(empty_series, counts=empty_series.counts * 0, rounds=())
    view = on_screen(qtbot, HistogramView(), [empty_series])
    assert "not in the run folder" in view._missing.text()


@pytest.fixture
def rivals() -> list[Series]:
    """Two that were measured, one in another precision, and a card that is simulated."""
    return [
        _case("fpga:v80", 0.5, "simulated"),
        _case("ort-cpu", 10.0, warnings=BUSY),
        _case("torch-cpu", 25.0),
        _case("openvino-cpu", 5.0, precision="bf16"),
    ]


def test_the_best_of_a_row_is_of_one_clock_and_one_precision(
    qtbot: QtBot, rivals: list[Series]
) -> None:
    view = on_screen(qtbot, MatrixView(), rivals)
    pivot = view._pivot()
    columns = list(pivot.columns)
    assert columns == ["ort-cpu", "torch-cpu", "openvino-cpu", "fpga:v80"], "simulated ones last"
    by_name = {columns[cell.column]: cell for cell in pivot.cells}
    ratios = {name: cell.ratio for name, cell in by_name.items()}
    assert ratios == {"ort-cpu": 1.0, "torch-cpu": 2.5, "openvino-cpu": None, "fpga:v80": None}
    is_doubtful = {name: view._tile(cell).doubted for name, cell in by_name.items()}
    assert is_doubtful["ort-cpu"] and not is_doubtful["torch-cpu"]
    view.simulated_box.setChecked(False)
    assert "fpga:v80" not in view._pivot().columns


def test_comparing_has_the_words_and_colours_of_the_verdicts(qtbot: QtBot) -> None:
    view = on_screen(qtbot, CompareView())
    view.set_runs(side("a", [series(count=500)], {}), side("b", [series(count=500, seed=2)], {}))
    view.refresh()
    entries = {entry.text: entry for entry in view.legend._entries}
    assert list(entries) == ["second faster", "second slower", "same", "undecided"]
    pen = entries["second slower"].pen
    assert pen is not None and pen.color() == verdict_color("slower", LIGHT)
    fills = [entry.brush.color().name() for entry in entries.values() if entry.brush is not None]
    assert len(set(fills)) == 4, "what is undecided is not what is the same"
