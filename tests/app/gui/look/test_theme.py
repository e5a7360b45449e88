"""Themes: colours that are told apart, and widgets that are dressed once for a change."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.style_sheet import apply_theme
from app.gui.look.theme import DARK, LIGHT, THEMES, Theme, runtime_color
from app.gui.plots.style import series_styles
from runtimes.registry import RUNTIMES
from tests.app.gui.look.seen import VISIONS, linear, seen_as
from tests.app.gui.synthetic import series


def _contrast(first_color: QColor, other: QColor) -> float:
    """WCAG 2's ratio of relative luminances."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted([float(weights @ linear(first_color)), float(weights @ linear(other))])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("vision", VISIONS.values(), ids=VISIONS)
def test_no_two_runtimes_look_alike(theme: Theme, vision: np.ndarray) -> None:
    colors = {name: seen_as(runtime_color(name, theme), vision) for name in theme.runtimes}
    for (name, first_color), (other, two) in combinations(colors.items(), 2):
        assert np.linalg.norm(first_color - two) > 0.05, (name, other)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_lines_and_texts_stand_out_from_the_ground(theme: Theme) -> None:
    base = QColor(theme.base)
    for text in (theme.text, theme.muted, theme.accent, theme.good, theme.warning, theme.bad):
        for ground in (theme.base, theme.stripe, theme.window, theme.raised):
            assert _contrast(QColor(text), QColor(ground)) >= 4.5, (text, ground)
    for text in (theme.faster, theme.slower):
        assert _contrast(QColor(text), base) >= 4.5, text
    assert _contrast(QColor(theme.on_accent), QColor(theme.accent)) >= 4.5
    for ground in (theme.base, theme.window, theme.raised):
        assert _contrast(QColor(theme.control), QColor(ground)) >= 3.0, ground
    for color in (*map(QColor, theme.hues), *(runtime_color(n, theme) for n in theme.runtimes)):
        assert _contrast(color, base) >= 3.0, color.name()


@pytest.mark.rare
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


class _Label(QLabel):
    """Counts how often it is dressed."""

    count = 0

    def event(self, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.StyleChange
        return super().event(event)


def test_a_deep_widget_is_dressed_as_often_as_a_shallow_one(qtbot: QtBot) -> None:
    apply_theme("light")
    outer = holder = QWidget()
    qtbot.addWidget(outer)
    labels = []
    for _ in range(8):
        column = QVBoxLayout(holder)
        labels.append(_Label("text"))
        holder = QWidget()
        column.addWidget(labels[-1])
        column.addWidget(holder)
    outer.show()
    for label in labels:
        label.count = 0
    apply_theme("dark")
    assert labels[0].count > 0
    assert {label.count for label in labels} == {labels[0].count}
