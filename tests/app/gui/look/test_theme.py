"""Colours as people see them, some of whom see fewer: told apart and standing out on the screen."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.gui.look.style_sheet import apply_theme
from app.gui.look.theme import DARK, LIGHT, THEMES, Theme, runtime_color
from app.gui.plots.style import series_styles
from app.gui.window import MainWindow
from runtimes.registry import RUNTIMES
from tests.app.gui.synthetic import series

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
VISIONS: dict[str, np.ndarray] = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def seen_as(color: QColor, vision: np.ndarray) -> np.ndarray:
    """Where a colour lies in Oklab, in which distances look alike, for those who see so."""
    return _oklab(vision @ linear(color))


def linear(color: QColor) -> np.ndarray:
    """The linear parts of red, green and blue, from 0 to 1."""
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _oklab(linear_rgb: np.ndarray) -> np.ndarray:
    """Ottosson's perceptual space."""
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
    return lab @ np.cbrt(cone @ np.clip(linear_rgb, 0.0, 1.0))


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


def test_every_runtime_of_the_registry_has_a_colour_of_its_own() -> None:
    for name in RUNTIMES:
        assert name in LIGHT.runtimes and name in DARK.runtimes


def _strongest(image: QImage, ground: QColor) -> float:
    """The contrast of the pixel that stands out most from the ground."""
    colors = {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }
    return max(_contrast(QColor(name), ground) for name in colors)


@pytest.mark.parametrize("name", THEMES)
def test_texts_and_outlines_stand_out_on_the_screen(qtbot: QtBot, name: str) -> None:
    theme = apply_theme(name)
    holder = QWidget()
    qtbot.addWidget(holder)
    column = QVBoxLayout(holder)
    label = QLabel("muted words")
    label.setProperty("muted", True)
    wrong = QLabel("wrong words")
    wrong.setProperty("wrong", True)
    off = QPushButton("disabled")
    off.setEnabled(False)
    texts = (QLabel("words"), label, wrong, off)
    box = QComboBox()
    box.addItem("")
    outlined_widgets = (QLineEdit(), QPushButton(""), box, QCheckBox(""))
    for widget in (*texts, *outlined_widgets):
        column.addWidget(widget)
    holder.resize(240, 400)
    holder.show()
    QApplication.processEvents()
    for text in texts:
        image = text.grab().toImage()
        ground = image.pixelColor(image.width() // 2, image.height() - 4)
        assert _strongest(image, ground) >= 4.5, text.text()
    for control in outlined_widgets:
        image = control.grab().toImage()
        assert _strongest(image, QColor(theme.window)) >= 3.0, control
    apply_theme("light")


def test_the_focus_is_seen_on_every_kind_of_control(window: MainWindow, qtbot: QtBot) -> None:
    window.frame.show_key("editor")
    window.activateWindow()
    with qtbot.waitActive(window):
        window.activateWindow()
    form = window.editor
    controls = (
        form.grid_form.fields["batch_size"],
        form.plan_form.profile,
        form.plan_form.boxes["profile_ops"],
        form.footer.copy_button,
        form.advanced.button,
        window.header.buttons["new"],
    )
    for control in controls:
        control.setEnabled(True)
        form.close_button.setFocus()
        QApplication.processEvents()
        image_before = control.grab().toImage()
        control.setFocus()
        QApplication.processEvents()
        assert control.grab().toImage() != image_before, control.accessibleName()
