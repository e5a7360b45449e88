"""Rates that a curve over the rate is marked at: its knee, and what a search has found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme


@dataclass(frozen=True, slots=True)
class RateMark:
    """A rate in the colour of its curve, with the text beside it; `line` is how it is drawn."""

    rate_hz: float
    text: str
    color: QColor
    line: Qt.PenStyle


_TEXTS_SHARE = 0.5
"""Of the plot's height, which all texts together may take."""


class RateMarks(Overlay):
    """A line at each rate, their texts one below another where there is room for all."""

    def __init__(self, plot: pg.PlotItem, marks: Sequence[RateMark], theme: Theme) -> None:
        super().__init__(plot)
        self._marks, self._theme = tuple(marks), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        places = [(self.x_px(math.log10(mark.rate_hz)), mark) for mark in self._marks]
        seen = sorted((at for at in places if box.left() <= at[0] <= box.right()), key=_left_first)
        for x, mark in seen:
            painter.setPen(QPen(mark.color, 1.2, mark.line))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        height = metrics.height()
        if len(seen) * height > _TEXTS_SHARE * box.height():
            return  # so many texts would hide the curves
        for row, (x, mark) in enumerate(seen):
            width = metrics.horizontalAdvance(mark.text)
            left = max(box.left() + 2.0, x - 5.0 - width)
            place = QRectF(left, box.top() + 2.0 + row * height, width, height)
            painter.fillRect(place, QColor(self._theme.base))
            painter.setPen(QColor(self._theme.text))
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, mark.text)


def _left_first(place: tuple[float, RateMark]) -> float:
    return place[0]
