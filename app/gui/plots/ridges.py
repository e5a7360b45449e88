"""Histograms one below another in one plot: a row for each series, its name at the left end.

All rows have one scale, so that heights compare; what the window has no room for is scrolled to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme
from app.gui.plots.marks import Mark, mark_pen
from app.gui.plots.style import SeriesStyle

ROW_PX = 44
"""The least height in which a row is read."""
_TALL = 0.86
"""The share of a row that its highest column may take."""


@dataclass(frozen=True, slots=True)
class Ridge:
    """Columns between log10 edges [n + 1] of `heights` [n] from 0 to 1, and their marks; `behind`
    are the outlines of baselines, `lit` what is marked of the samples."""

    edges: np.ndarray
    heights: np.ndarray
    style: SeriesStyle
    marks: Sequence[Mark] = ()
    behind: Sequence[Ridge] = ()
    lit: Ridge | None = None


class RidgeLayer(Overlay):
    """Each ridge in its row: 0 is the topmost, and a row is as high as 1 on the y axis."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self._theme = theme
        self._ridges: tuple[Ridge, ...] = ()

    def set_ridges(self, ridges: Sequence[Ridge]) -> None:
        self._ridges = tuple(ridges)
        self.update()

    @property
    def ridges(self) -> tuple[Ridge, ...]:
        return self._ridges

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        tall = abs(self.y_px(1.0) - self.y_px(0.0))
        painter.setFont(plot_font(-1.5))
        for row, ridge in enumerate(self._ridges):
            floor = self.y_px(row + 0.5)
            if box.top() <= floor and floor - tall <= box.bottom():
                self._paint_floor(painter, floor)
                for outline in ridge.behind:
                    self._paint_columns(painter, outline, floor, tall, filled=False)
                self._paint_columns(painter, ridge, floor, tall, filled=True)
                if ridge.lit is not None:
                    self._paint_columns(painter, ridge.lit, floor, tall, filled=True)
                self._paint_marks(painter, ridge.marks, QRectF(box.left(), floor - tall, 1, tall))

    def _paint_floor(self, painter: QPainter, floor: float) -> None:
        box = self.boundingRect()
        painter.setPen(QPen(QColor(self._theme.grid), 1.0))
        painter.drawLine(QPointF(box.left(), floor), QPointF(box.right(), floor))

    def _paint_columns(
        self, painter: QPainter, ridge: Ridge, floor: float, tall: float, *, filled: bool
    ) -> None:
        box = self.boundingRect()
        heights = np.concatenate([[0.0], np.repeat(ridge.heights, 2), [0.0]])
        x = np.clip(np.round(self.x_px(ridge.edges)), box.left() - 4.0, box.right() + 4.0)
        y = np.round(floor - heights * tall * _TALL)
        steps = pg.functions.arrayToQPolygonF(np.repeat(x, 2), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ridge.style.fill())
            painter.drawPolygon(steps)
        painter.setPen(ridge.style.pen(1.0))
        painter.drawPolyline(steps)

    def _paint_marks(self, painter: QPainter, marks: Sequence[Mark], row: QRectF) -> None:
        """Lines as high as the row, intervals on its floor, texts where none overlaps another."""
        box = self.boundingRect()
        metrics = QFontMetricsF(painter.font())
        free_from = box.left()
        for mark in sorted(marks, key=lambda mark: mark.seconds):
            x = self.x_px(math.log10(mark.seconds))
            if not box.left() <= x <= box.right():
                continue
            painter.setPen(mark_pen(mark.color, mark.kind))
            painter.drawLine(QPointF(x, row.top() + 2), QPointF(x, row.bottom()))
            if mark.interval_s is not None:
                low, high = (
                    self.x_px(math.log10(v)) for v in (mark.interval_s.low, mark.interval_s.high)
                )
                painter.fillRect(QRectF(low, row.bottom() - 3, high - low, 3.0), mark.color)
            width = metrics.horizontalAdvance(mark.text)
            if x + 3 >= free_from and x + 3 + width <= box.right():
                place = QRectF(x + 3, row.top() + 1, width, metrics.height())
                painter.fillRect(place, QColor(self._theme.base))
                painter.setPen(QColor(self._theme.text))
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, mark.text)
                free_from = place.right() + 8
