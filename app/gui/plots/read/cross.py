"""The lines through what is read, and the band of what is marked, painted over a plot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.theme import Theme

_RUG_PX = 7.0


class CrossLayer(Overlay):
    """A thin line for each coordinate that is read; moving it repaints nothing but the lines."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self.setZValue(60)
        self.plot = plot
        self._theme = theme
        self._x: float | None = None
        self._y: float | None = None
        self._pinned = False

    def move_to(self, x: float | None, y: float | None, pinned: bool) -> None:
        self._repaint()
        self._x, self._y, self._pinned = x, y, pinned
        self._repaint()

    def _repaint(self) -> None:
        for line in self._lines():
            self.update(QRectF(line.p1(), line.p2()).normalized().adjusted(-2, -2, 2, 2))

    def _lines(self) -> list[QLineF]:
        box, lines = self.boundingRect(), []
        if self._x is not None:
            x = self.x_px(self._x)
            lines.append(QLineF(x, box.top(), x, box.bottom()))
        if self._y is not None:
            y = self.y_px(self._y)
            lines.append(QLineF(box.left(), y, box.right(), y))
        return lines

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        color = QColor(self._theme.accent if self._pinned else self._theme.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(color, 1.0, Qt.PenStyle.SolidLine))
        painter.drawLines(self._lines())


class BandLayer(Overlay):
    """What is marked: a band between two places, and a short line at each lit sample's place.

    `upright`: the places lie on the x axis, else on the y axis.
    """

    def __init__(self, plot: pg.PlotItem, theme: Theme, *, upright: bool = True) -> None:
        super().__init__(plot)
        self.setZValue(8)
        self._theme, self._upright = theme, upright
        self._ends: tuple[float, float] | None = None
        self._rugs: tuple[tuple[np.ndarray, QColor], ...] = ()

    def set_band(self, ends: tuple[float, float] | None) -> None:
        """In the plot's coordinates; an end may be infinite."""
        if ends != self._ends:
            self._ends = ends
            self.update()

    def set_rugs(self, rugs: Sequence[tuple[np.ndarray, QColor]]) -> None:
        """The places [n] of lit samples in the plot's coordinates, of each case in its colour."""
        self._rugs = tuple(rugs)
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if self._ends is not None:
            shade = QColor(self._theme.accent)
            shade.setAlpha(38)
            low, high = (self._px(end, box) for end in self._ends)
            band = QRectF(low, box.top(), max(2.0, high - low), box.height())
            if not self._upright:
                band = QRectF(box.left(), high, box.width(), max(2.0, low - high))
            painter.fillRect(band & box, shade)
        for number, (places, color) in enumerate(self._rugs):
            painter.setPen(QPen(color, 1.5))
            painter.drawLines(self._rug(places, number, box))

    def _px(self, end: float, box: QRectF) -> float:
        if self._upright:
            return min(max(self.x_px(end), box.left() - 2.0), box.right() + 2.0)
        return min(max(self.y_px(end), box.top() - 2.0), box.bottom() + 2.0)

    def _rug(self, places: np.ndarray, number: int, box: QRectF) -> list[QLineF]:
        """A row for each case, beginning at the axis."""
        if self._upright:
            far = box.bottom() - number * (_RUG_PX + 1.0)
            columns = np.unique(np.round(self.x_px(places)))
            ends = [(QPointF(x, far - _RUG_PX), QPointF(x, far)) for x in columns.tolist()]
        else:
            near = box.left() + number * (_RUG_PX + 1.0)
            rows = np.unique(np.round(self.y_px(places)))
            ends = [(QPointF(near, y), QPointF(near + _RUG_PX, y)) for y in rows.tolist()]
        return [QLineF(*pair) for pair in ends]
