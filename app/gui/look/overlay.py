"""Painting over a plot in pixels: text and shapes that do not stretch with zoom, and their font."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QApplication, QGraphicsObject, QStyleOptionGraphicsItem, QWidget

from app.gui.look.theme import LIGHT, Theme

Position = TypeVar("Position", float, np.ndarray)


class Overlay(QGraphicsObject):
    """Base: covers the view box, is clipped to it, repaints when it moves; subclasses `draw`."""

    def __init__(self, plot: pg.PlotItem, theme: Theme = LIGHT) -> None:
        self._theme = theme
        self._box = plot.getViewBox()
        self._bounds = self._box.rect()
        super().__init__(self._box)
        self.setZValue(50)
        self.setFlag(QGraphicsObject.GraphicsItemFlag.ItemClipsToShape)
        self._box.sigResized.connect(self._on_range_change)
        self._box.sigRangeChanged.connect(self._on_range_change)

    def _on_range_change(self, *_: object) -> None:
        if self._bounds != self._box.rect():
            self.prepareGeometryChange()
            self._bounds = self._box.rect()
        self.update()

    def boundingRect(self) -> QRectF:  # noqa: N802
        """As Qt was last told: the box's own may have changed by now."""
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Paint it, in pixels of the box; in subclasses."""

    def x_px(self, value: Position) -> Position:
        """The pixel column of a value on the x axis, or those of an array."""
        (low, high), _ = self._box.viewRange()
        rect = self._box.rect()
        return rect.left() + (value - low) / (high - low) * rect.width()

    def y_px(self, value: Position) -> Position:
        """The pixel row of a value on the y axis, or those of an array."""
        _, (low, high) = self._box.viewRange()
        rect = self._box.rect()
        distance = (value - low) / (high - low) * rect.height()
        return rect.top() + distance if self._box.yInverted() else rect.bottom() - distance


def plot_font(points: float = 0.0, *, bold: bool = False) -> QFont:
    """The application's font, larger or smaller by some points."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() + points)
    font.setBold(bold)
    return font


def write_line(painter: QPainter, room: QRectF, text: str, font: QFont, color: str) -> float:
    """Write a line of text, elided to the room; how wide it is."""
    metrics = QFontMetricsF(font)
    text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, room.width()))
    painter.setFont(font)
    painter.setPen(QColor(color))
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
    return metrics.horizontalAdvance(text)
