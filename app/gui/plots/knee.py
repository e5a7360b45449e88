"""Where a curve of latency over the rate has its knee: a dotted line with its rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.theme import Theme
from app.gui.plots.legend import plot_font
from app.gui.plots.overlay import Overlay
from app.results.text import rate_text


class KneeLayer(Overlay):
    """A line at each rate in the colour of its curve, their texts one below another."""

    def __init__(
        self, plot: pg.PlotItem, knees_hz: Sequence[tuple[float, QColor]], theme: Theme
    ) -> None:
        super().__init__(plot)
        self._knees, self._theme = tuple(knees_hz), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        places = [(self.x_px(math.log10(rate)), rate, color) for rate, color in self._knees]
        seen = sorted((at for at in places if box.left() <= at[0] <= box.right()), key=_left_first)
        for x, _, color in seen:
            painter.setPen(QPen(color, 1.2, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        for row, (x, rate_hz, _) in enumerate(seen):
            text = f"knee {rate_text(rate_hz)}"
            width, height = metrics.horizontalAdvance(text), metrics.height()
            left = max(box.left() + 2.0, x - 5.0 - width)
            place = QRectF(left, box.top() + 2.0 + row * height, width, height)
            painter.fillRect(place, QColor(self._theme.base))
            painter.setPen(QColor(self._theme.text))
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)


def _left_first(place: tuple[float, float, QColor]) -> float:
    return place[0]
