"""Which marks are of cases that are selected in the table: framed, in every view that has them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.theme import Theme
from app.gui.plots.overlay import Overlay
from app.gui.plots.read.spots import Spot

_RING_PX = 8.0


class ChosenLayer(Overlay):
    """A ring around a point, a frame around a tile, a bar before and a tint over a row."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self.setZValue(55)
        self._theme = theme
        self.spots: tuple[Spot, ...] = ()

    def set_spots(self, spots: Sequence[Spot]) -> None:
        if tuple(spots) != self.spots:
            self.spots = tuple(spots)
            self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if not self.spots:
            return
        box, color = self.boundingRect(), QColor(self._theme.accent)
        tint = QColor(color)
        tint.setAlpha(28)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rows = {spot.y for spot in self.spots if math.isinf(spot.reach[0])}
        for y in rows:
            half = abs(self.y_px(y + 0.5) - self.y_px(y)) - 2.0
            place = QRectF(box.left(), self.y_px(y) - half, box.width(), 2.0 * half)
            painter.fillRect(place, tint)
            painter.fillRect(QRectF(place.left(), place.top(), 4.0, place.height()), color)
        painter.setPen(QPen(color, 2.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for spot in self.spots:
            x, y = self.x_px(spot.x), self.y_px(spot.y)
            if spot.reach == (0.0, 0.0):
                painter.drawEllipse(QPointF(x, y), _RING_PX, _RING_PX)
            elif math.isfinite(spot.reach[0]):
                wide = abs(self.x_px(spot.x + spot.reach[0]) - x) - 1.5
                high = abs(self.y_px(spot.y + spot.reach[1]) - y) - 1.5
                if wide > 0.0:
                    painter.drawRect(QRectF(x - wide, y - high, 2.0 * wide, 2.0 * high))
                else:
                    painter.drawLine(QPointF(x, y - high), QPointF(x, y + high))
