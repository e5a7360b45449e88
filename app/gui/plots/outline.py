"""A histogram's outline, filled or not, painted in whole pixels as one polygon.

pyqtgraph cuts a filled curve into two dozen paths and scales each, at three times the cost;
and a hatch that is painted in pixels stays a hatch at any zoom.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.plots.style import SeriesStyle

_BEYOND_PX = 4.0
"""How far beyond the edge of the plot an outline is followed: enough to hide its end."""


class OutlineLayer(Overlay):
    """Columns between `edges` [n + 1] of `heights` [n] over a floor, in data coordinates."""

    def __init__(self, plot: pg.PlotItem, style: SeriesStyle) -> None:
        super().__init__(plot)
        self.setZValue(10)
        self._style, self._filled = style, True
        self._edges, self._heights, self._floor = np.zeros(1), np.zeros(0), 0.0

    def set_style(self, style: SeriesStyle, *, filled: bool = True) -> None:
        self._style, self._filled = style, filled

    def set_columns(self, edges: np.ndarray, heights: np.ndarray, floor: float) -> None:
        self._edges, self._heights, self._floor = edges, heights, floor
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect().adjusted(-_BEYOND_PX, -_BEYOND_PX, _BEYOND_PX, _BEYOND_PX)
        heights = np.concatenate([[self._floor], np.repeat(self._heights, 2), [self._floor]])
        x = np.clip(np.round(self.x_px(self._edges)), box.left(), box.right())
        y = np.clip(np.round(self.y_px(heights)), box.top(), box.bottom())
        steps = pg.functions.arrayToQPolygonF(np.repeat(x, 2), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if self._filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._style.fill())
            painter.drawPolygon(steps)
        painter.setPen(self._style.pen(1.0))
        painter.drawPolyline(steps)
        if not self._filled:
            # Twice as wide by a second thin line: Qt takes ten times as long for a single wide one.
            pixel = 1.0 / painter.deviceTransform().m11()
            painter.drawPolyline(steps.translated(pixel, pixel))
