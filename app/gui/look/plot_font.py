"""The letters of plots: the application's, a little larger or smaller."""

from __future__ import annotations

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication


def plot_font(points: float = 0.0, *, bold: bool = False) -> QFont:
    """The application's font, larger or smaller by some points."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() + points)
    font.setBold(bold)
    return font
