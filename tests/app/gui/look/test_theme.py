"""Colours: the same for a runtime in every run, and told apart by those who see fewer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from app.gui.look.theme import DARK, LIGHT, THEMES, Theme, apply_theme, runtime_color
from app.gui.plots.style import series_styles
from runtimes.registry import RUNTIMES
from tests.app.gui.synthetic import series

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
_PROTANOPIA = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]
_DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881],
]


def _linear(color: QColor) -> np.ndarray:
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _oklab(linear: np.ndarray) -> np.ndarray:
    """Ottosson's perceptual space, in which distances look alike."""
    cone = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(cone @ np.clip(linear, 0.0, 1.0))


def _contrast(one: QColor, other: QColor) -> float:
    """WCAG 2's ratio of relative luminances."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted([float(weights @ _linear(one)), float(weights @ _linear(other))])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize(
    "vision",
    [np.eye(3), np.array(_PROTANOPIA), np.array(_DEUTERANOPIA)],
    ids=["full", "protanopia", "deuteranopia"],
)
def test_no_two_runtimes_look_alike(theme: Theme, vision: np.ndarray) -> None:
    seen = {name: _oklab(vision @ _linear(runtime_color(name, theme))) for name in theme.runtimes}
    for (name, one), (other, two) in combinations(seen.items(), 2):
        assert np.linalg.norm(one - two) > 0.05, (name, other)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_lines_and_texts_stand_out_from_the_ground(theme: Theme) -> None:
    base = QColor(theme.base)
    told = (theme.good, theme.warning, theme.bad, theme.faster, theme.slower)
    for text in (theme.text, theme.muted, *told):
        assert _contrast(QColor(text), base) >= 4.5, text
    for name in theme.runtimes:
        assert _contrast(runtime_color(name, theme), base) >= 2.9, name


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_the_shades_of_a_runtime_stand_out_from_the_ground_and_differ(theme: Theme) -> None:
    base = QColor(theme.base)
    for name in theme.runtimes:
        for count in (2, 3, 6):
            several = [series(key=str(key), runtime=name) for key in range(count)]
            colors = [style.color for style in series_styles(several, theme).values()]
            assert min(_contrast(color, base) for color in colors) >= 2.9, (name, count)
            assert len({color.name() for color in colors}) == count


def test_the_environments_of_a_runtime_are_shades_of_its_colour() -> None:
    several = [series(key=name, runtime=f"ort-cpu@{name}") for name in ("spring", "autumn")]
    first, second = (style.color for style in series_styles(several, LIGHT).values())
    assert first == runtime_color("ort-cpu") != second


def test_every_runtime_of_the_registry_has_a_colour_of_its_own() -> None:
    for name in RUNTIMES:
        assert name in LIGHT.runtimes and name in DARK.runtimes


def test_a_release_and_an_unknown_device_keep_the_runtimes_colour() -> None:
    assert runtime_color("ort-cuda:1") == runtime_color("ort-cuda")
    assert runtime_color("fpga:ia-840f@sdk21") == runtime_color("fpga:ia-840f")
    assert runtime_color("fpga:ia-840f") != runtime_color("fpga:v80")
    assert runtime_color("somebody-elses") == runtime_color("somebody-elses")


def test_applying_a_theme_reaches_widgets(qapp: QApplication) -> None:
    apply_theme("dark")
    assert qapp.palette().color(QPalette.ColorRole.Base) == QColor(DARK.base)
    apply_theme("light")
    assert qapp.palette().color(QPalette.ColorRole.Base) == QColor(LIGHT.base)
