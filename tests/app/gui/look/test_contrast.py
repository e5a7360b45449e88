"""Contrast as it is on the screen: pixels of real controls in both themes, by WCAG 2.2."""

from __future__ import annotations

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
from app.gui.look.theme import THEMES
from app.gui.window import MainWindow
from tests.app.gui.look.seen import linear

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])


def _contrast(first_color: QColor, other: QColor) -> float:
    low, high = sorted(float(_WEIGHTS @ linear(color)) for color in (first_color, other))
    return (high + 0.05) / (low + 0.05)


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
        form.grid_form.batch,
        form.plan_bar.profile,
        form.plan_bar.profile_ops,
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
