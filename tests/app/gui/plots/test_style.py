"""Colours of series: by what differs, the same in every view, apart for those who see fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT, THEMES, Theme, contrast, runtime_color, verdict_color
from app.gui.plots.compare import CompareView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.style import apart, legend_text, series_colors, series_styles
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.look.test_theme import VISIONS, seen_as
from tests.app.gui.plots.views import grid, many, on_screen, side
from tests.app.gui.synthetic import series

CPU, TWO = ("ort-cpu",), ("ort-cpu", "openvino-cpu")
FOUR = (*TWO, "torch-cpu", "fpga:v80")
SWEEPS = {
    "two models": grid(("a", "b")),
    "models by batches": grid(("a", "b", "c"), CPU, (1, 4, 16, 64)),
    "runtimes by batches": grid(("a",), FOUR, (1, 2, 4, 8, 16, 32)),
    "everything": grid(("a", "b", "c"), FOUR, (1, 4, 16)),
    "eight models": grid("abcdefgh", CPU, (1, 2)),
    "nine models": grid("abcdefghi", CPU, (1, 2, 4, 8)),
    "forty sizes": grid(("a",), CPU, range(1, 41)),
}


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("vision", VISIONS.values(), ids=VISIONS)
def test_neighbouring_series_stay_apart(
    sweep: Sequence[Series], theme: Theme, vision: np.ndarray
) -> None:
    colors = series_colors(sweep, theme)
    for (first_key, first), (other, second) in pairwise(colors.items()):
        distance = np.linalg.norm(seen_as(first, vision) - seen_as(second, vision))
        assert distance > 0.05, (first_key, other)  # as much as two runtimes are apart


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_each_series_has_a_colour_of_its_own_that_stands_out(
    sweep: Sequence[Series], theme: Theme
) -> None:
    colors = series_colors(sweep, theme)
    assert len({color.name() for color in colors.values()}) == len(sweep)
    assert min(contrast(color, QColor(theme.base)) for color in colors.values()) >= 2.85


def _hues(sweep: Sequence[Series], text: str = "") -> dict[str, int]:
    """Of each series its hue, rounded to what a shade may turn it by."""
    return {key: round(c.hslHue() / 24) for key, c in series_colors(sweep, LIGHT, text).items()}


def test_runtimes_keep_their_lasting_colours_where_they_differ() -> None:
    colors = series_colors(grid(("a", "b"), TWO), LIGHT)
    assert colors["a/ort-cpu/1"] == runtime_color("ort-cpu")
    assert colors["a/openvino-cpu/1"] == runtime_color("openvino-cpu")


def test_what_differs_has_the_hues_and_the_rest_the_shades() -> None:
    hues = _hues(grid(("a", "b"), CPU, (1, 4)))
    assert hues["a/ort-cpu/1"] == hues["a/ort-cpu/4"] != hues["b/ort-cpu/1"] == hues["b/ort-cpu/4"]


def test_colours_that_look_alike_to_some_are_told_to_be_near() -> None:
    red, green = QColor("#c42b2b"), QColor("#6b7a2b")
    everyone = VISIONS["full"]
    plain = float(np.linalg.norm(seen_as(red, everyone) - seen_as(green, everyone)))
    least = min(
        float(np.linalg.norm(seen_as(red, vision) - seen_as(green, vision)))
        for vision in VISIONS.values()
    )
    assert apart(red, green) == pytest.approx(least, abs=1e-3)
    assert least < 0.7 * plain


def test_beyond_eight_series_lines_are_told_apart_by_their_pattern_too() -> None:
    """Four shades of one blue were the same to the eye."""
    few = series_styles(many(8), LIGHT)
    assert {style.pattern for style in few.values()} == {0}
    cases = many(24)
    styles = [series_styles(cases, LIGHT)[case.key] for case in cases]
    for case, other in pairwise(styles):
        assert (case.color.name(), case.pattern) != (other.color.name(), other.pattern)
    assert len({tuple(style.line_pen(1.8).dashPattern()) for style in styles}) >= 3
    simulated = replace(styles[1], simulated=True)
    assert simulated.line_pen(1.8).dashPattern() not in [
        style.line_pen(1.8).dashPattern() for style in styles
    ]


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


def test_a_warning_that_comes_with_the_row_empties_what_was_filled(qtbot: QtBot) -> None:
    measuring = series(key="a", count=2000, finished=False)
    view = on_screen(qtbot, HistogramView(), [measuring])
    (columns,) = view.panel.columns.columns
    assert columns.style.fill().style() == Qt.BrushStyle.SolidPattern
    view.set_series([replace(measuring, row={**measuring.row, "warnings": BUSY})])
    view.refresh()
    (columns,) = view.panel.columns.columns
    assert columns.style.fill().style() == Qt.BrushStyle.NoBrush


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


def test_a_wrong_output_is_told_at_its_percentiles(qtbot: QtBot) -> None:
    wrong = series(key="c", count=2000, status="wrong_output")
    view = on_screen(qtbot, HistogramView(), [series(key="a", count=2000, seed=2), wrong])
    marks = [mark.text for mark in view.mark_layer.marks if mark.text]
    assert sum("wrong output" in text for text in marks) == len(marks) // 2
    assert any("wrong output" in entry.text for entry in view.legend._entries)
