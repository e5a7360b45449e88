"""The names above the columns of a matrix: beside each other, or upright where they would touch."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.plot_font import plot_font
from app.gui.look.shorter import shorter
from app.gui.plots.axes import SolidAxis

_LONGEST_PX = 190.0
_GAP_PX = 8.0


class HeadingsAxis(SolidAxis):
    """A top axis whose columns 0, 1, 2 … carry names."""

    def __init__(self, names: Sequence[str], ink: QColor) -> None:
        super().__init__("top")
        self._names, self._ink = tuple(names), ink
        self._brief: tuple[str, ...] = self._names
        self._upright = False
        self._box: pg.ViewBox | None = None

    def stand_over(self, box: pg.ViewBox, column_px: float, most_px: float) -> float:
        """Over the columns of this box, each of which is so wide; tells how high that makes it.

        Upright only where that leaves more of a name than its column does, and not above `most_px`.
        """
        metrics = QFontMetricsF(plot_font())
        widest = max(map(metrics.horizontalAdvance, self._names), default=0.0)
        upright_px = min(widest, _LONGEST_PX, most_px - _GAP_PX)
        self._box = box
        self._upright = widest + _GAP_PX > column_px and upright_px > column_px - _GAP_PX
        height = _GAP_PX + (upright_px if self._upright else metrics.height())
        room = upright_px if self._upright else column_px - _GAP_PX
        self._brief = tuple(shorter(self._names, room, metrics.horizontalAdvance))
        self.setHeight(height)
        self.update()
        return height

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if self._box is None:
            return
        (low, high), _ = self._box.viewRange()
        rect, room = self._box.rect(), self.boundingRect()
        column_px = rect.width() / (high - low)
        metrics = QFontMetricsF(plot_font())
        painter.setFont(plot_font())
        painter.setPen(self._ink)
        for place, text in enumerate(self._brief):
            if not low <= place <= high:
                continue
            at = self.mapFromItem(self._box, QPointF((place - low) * column_px + rect.left(), 0.0))
            if not self._upright:
                cell = QRectF(at.x() - column_px / 2, room.top(), column_px, room.height())
                painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, text)
                continue
            painter.save()
            painter.translate(at.x() + metrics.ascent() / 2.0, room.bottom() - _GAP_PX / 2.0)
            painter.rotate(-90.0)
            painter.drawText(QPointF(0.0, 0.0), text)
            painter.restore()
