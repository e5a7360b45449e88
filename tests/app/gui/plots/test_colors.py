"""Colours of series: by what differs, the same in every view, apart for those who see fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtGui import QColor

from app.gui.look.theme import LIGHT, THEMES, Theme, contrast, runtime_color
from app.gui.plots.style import apart, series_colors, series_styles
from app.plot_data.series import Series
from tests.app.gui.look.seen import VISIONS, seen_as
from tests.app.gui.plots.grids import grid, many

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


def test_the_first_example_is_not_two_nearly_equal_blues() -> None:
    first, second = series_colors(grid(("cnn_tiny", "lstm_tiny")), LIGHT).values()
    hue_distance = abs(first.hslHue() - second.hslHue())
    assert min(hue_distance, 360 - hue_distance) > 60


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


def test_somebody_may_choose_what_has_the_hues() -> None:
    hues = _hues(grid(("a", "b"), TWO, (1, 4)), "batch")
    assert len({hue for key, hue in hues.items() if key.endswith("/1")}) == 1
    assert hues["a/ort-cpu/1"] != hues["a/ort-cpu/4"]


def test_no_series_have_no_colours() -> None:
    assert series_colors([], LIGHT) == {}


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
