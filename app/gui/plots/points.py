"""Names beside points, each where it overlaps no other name and no point."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme

_MOST_NAMES = 200
_CLEAR_PX = 6.0


class NameLayer(Overlay):
    """Names at data points; one that finds no free place is left out until one zooms in."""

    def __init__(
        self, plot: pg.PlotItem, points: Sequence[tuple[float, float, str]], theme: Theme
    ) -> None:
        super().__init__(plot)
        self._points, self._theme = tuple(points), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setFont(plot_font(-1.0))
        painter.setPen(QColor(self._theme.text))
        metrics = QFontMetricsF(painter.font())
        box = self.boundingRect()
        places = [(QPointF(self.x_px(x), self.y_px(y)), name) for x, y, name in self._points]
        seen = [(at, name) for at, name in places if box.contains(at)]
        taken = [_around(at) for at, _ in seen]
        for at, name in seen[:_MOST_NAMES]:
            size = (metrics.horizontalAdvance(name), metrics.height())
            free = next(
                (
                    place
                    for place in _candidates(at, *size)
                    if box.contains(place) and not any(place.intersects(t) for t in taken)
                ),
                None,
            )
            if free is not None:
                taken.append(free)
                painter.drawText(free, Qt.AlignmentFlag.AlignCenter, name)


def _around(at: QPointF) -> QRectF:
    return QRectF(at.x() - 5, at.y() - 5, 10, 10)


def _candidates(at: QPointF, width: float, height: float) -> Sequence[QRectF]:
    """Right, left, above and below the point."""
    return (
        QRectF(at.x() + _CLEAR_PX, at.y() - height / 2, width, height),
        QRectF(at.x() - _CLEAR_PX - width, at.y() - height / 2, width, height),
        QRectF(at.x() - width / 2, at.y() - _CLEAR_PX - height, width, height),
        QRectF(at.x() - width / 2, at.y() + _CLEAR_PX, width, height),
    )
