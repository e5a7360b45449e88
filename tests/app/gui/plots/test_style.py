"""Colours of series: by what differs, the same in every view, apart for those who see fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, starmap

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.gui.look.theme import LIGHT, THEMES, contrast
from app.gui.plots.histogram import HistogramView
from app.gui.plots.style import apart, legend_text, series_colors, series_styles
from tests.app.gui.plots.views import grid, on_screen
from tests.app.gui.synthetic import series

CPU, TWO = ("ort-cpu",), ("ort-cpu", "openvino-cpu")
FOUR = (*TWO, "torch-cpu", "fpga:v80")
SWEEPS = {
    "two models": grid(("a", "b")),
    "everything": grid(("a", "b", "c"), FOUR, (1, 4, 16)),
    "nine models": grid("abcdefghi", CPU, (1, 2, 4, 8)),
    "forty sizes": grid(("a",), CPU, range(1, 41)),
}


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_each_series_has_a_colour_of_its_own_that_stands_out_and_apart(
    sweep: Sequence[Series],
) -> None:
    for theme in THEMES.values():
        colors = list(series_colors(sweep, theme).values())
        assert len({color.name() for color in colors}) == len(sweep)
        assert min(contrast(color, QColor(theme.base)) for color in colors) >= 2.85
        assert min(starmap(apart, pairwise(colors))) > 0.05, "as far as two runtimes are"


BUSY = "more was running than this machine has cores: stop other work to trust the tail"


def test_doubted_series_are_hollow_wrong_ones_crossed_out_and_simulated_ones_hatched() -> None:
    cases = {
        "sound": series(key="sound", count=50),
        "doubted": series(key="doubted", count=50, warnings=BUSY),
        "wrong output": series(key="wrong output", count=50, status="wrong_output"),
        "simulated": series("fpga:v80", key="simulated", count=50, clock="simulated"),
    }
    styles = series_styles(list(cases.values()), LIGHT)
    brush = Qt.BrushStyle
    fills = [styles[key].fill().style() for key in cases]
    assert fills == [
        brush.SolidPattern, brush.NoBrush, brush.DiagCrossPattern, brush.BDiagPattern,
    ]  # fmt: skip
    assert styles["simulated"].pen().style() == Qt.PenStyle.CustomDashLine
    assert [legend_text(case).partition(" (")[2] for case in cases.values()] == [
        "wall clock)", "wall clock, doubted)", "wall clock, wrong output)", "simulated)",
    ]  # fmt: skip


def test_what_a_view_says_follows_the_rows_that_it_gets(qtbot: QtBot) -> None:
    measuring = series(key="a", count=2000, finished=False)
    view = on_screen(qtbot, HistogramView(), [measuring])

    def show(*cases: Series) -> list[Qt.BrushStyle]:
        view.set_series(list(cases))
        view.refresh()
        return [columns.style.fill().style() for columns in view.panel.columns.columns]

    assert show(measuring) == [Qt.BrushStyle.SolidPattern]
    view.show_part("12 of 24 selected cases shown")
    doubted = replace(measuring, row={**measuring.row, "warnings": BUSY})
    assert show(doubted) == [Qt.BrushStyle.NoBrush], "a warning that comes with the row"
    assert view.heading._note.startswith("12 of 24 selected cases shown; wall clock")
    show(series(key="a", count=2000, seed=2), series(key="c", count=2000, status="wrong_output"))
    marks = [mark.text for mark in view.mark_layer.marks if mark.text]
    assert sum("wrong output" in text for text in marks) == len(marks) // 2
    assert any("wrong output" in entry.text for entry in view.legend._entries)
    show(replace(measuring, counts=measuring.counts * 0, rounds=()))
    assert "not in the run folder" in view._missing.text()
    show()
    assert (view.heading._title, view.heading._note) == ("", ""), "nothing of a former run"
