"""Lit samples on a timeline: a dot for each, and the time from one to the next where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.formatting.text import time_text
from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme

_MOST_DOTS = 400
"""More pixels than these are painted as a picture of dots."""
_DOT_PX = 3.0


class LitPoints(Overlay):
    """`points` are seconds on the axis and log10 seconds [n, n] of each round, in its colour."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self.setZValue(20)
        self._theme = theme
        self._points: tuple[tuple[np.ndarray, np.ndarray, QColor], ...] = ()
        self._kept: tuple[object, list[tuple[np.ndarray, np.ndarray, QColor]]] | None = None

    def set_points(self, points: Sequence[tuple[np.ndarray, np.ndarray, QColor]]) -> None:
        self._points = tuple(one for one in points if len(one[0]))
        self._kept = None
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if not self._points:
            return
        box = self.boundingRect()
        for columns, rows, color in self._pixels(box):
            if len(columns) > _MOST_DOTS:
                painter.drawImage(
                    box.topLeft() - QPointF(1.0, 1.0), _dots(columns, rows, box, color)
                )
                continue
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(self._theme.text), 1.0))
            painter.setBrush(color)
            for x, y in zip(columns.tolist(), rows.tolist(), strict=True):
                at = QPointF(box.left() + x, box.top() + y)
                painter.drawEllipse(at, _DOT_PX, _DOT_PX)
        self._paint_gaps(painter, box)

    def _pixels(self, box: QRectF) -> list[tuple[np.ndarray, np.ndarray, QColor]]:
        """The pixels [n, n] of this box that have a sample, each once; kept until it moves."""
        state = (self._box.viewRange(), box)
        if self._kept is None or self._kept[0] != state:
            self._kept = state, [self._seen(*points, box) for points in self._points]
        return self._kept[1]

    def _seen(
        self, at_s: np.ndarray, log_s: np.ndarray, color: QColor, box: QRectF
    ) -> tuple[np.ndarray, np.ndarray, QColor]:
        wide, high = int(box.width()) + 1, int(box.height()) + 1
        columns = np.rint(self.x_px(at_s) - box.left()).astype(np.int64)
        rows = np.rint(self.y_px(log_s) - box.top()).astype(np.int64)
        inside = (columns >= 0) & (columns < wide) & (rows >= 0) & (rows < high)
        taken = np.zeros(wide * high, bool)
        taken[rows[inside] * wide + columns[inside]] = True
        found_rows, found_columns = np.divmod(np.flatnonzero(taken), wide)
        return found_columns, found_rows, color

    def _paint_gaps(self, painter: QPainter, box: QRectF) -> None:
        """At the foot of the plot, as far as there is room for the words."""
        painter.setFont(plot_font(-1.5))
        metrics = QFontMetricsF(painter.font())
        foot = box.bottom() - 3.0
        for at_s, _, color in self._points:
            columns = self.x_px(at_s)
            seen = np.flatnonzero((columns >= box.left()) & (columns <= box.right()))
            if len(seen) < 2 or len(seen) * metrics.averageCharWidth() * 4 > box.width():
                continue
            for here, there in pairwise(seen.tolist()):
                left, right = float(columns[here]), float(columns[there])
                text = time_text(max(1e-9, float(at_s[there] - at_s[here])))
                if right - left < metrics.horizontalAdvance(text) + 10.0:
                    continue
                painter.setPen(QPen(color, 1.0))
                ends = (QPointF(left + 2.0, foot), QPointF(right - 2.0, foot))
                painter.drawLine(QLineF(*ends))
                for end in ends:
                    painter.drawLine(QLineF(end.x(), foot - 3.0, end.x(), foot + 2.0))
                painter.setPen(QColor(self._theme.text))
                above = QRectF(left, foot - metrics.height() - 1.0, right - left, metrics.height())
                painter.drawText(above, Qt.AlignmentFlag.AlignCenter, text)


def _dots(columns: np.ndarray, rows: np.ndarray, box: QRectF, color: QColor) -> QImage:
    """Dots of three by three pixels on clear ground."""
    wide, high = int(box.width()) + 3, int(box.height()) + 3
    canvas = np.zeros((high, wide), np.uint32)
    for down in (0, 1, 2):
        for across in (0, 1, 2):
            canvas[rows + down, columns + across] = color.rgba()
    image = QImage(canvas.tobytes(), wide, high, wide * 4, QImage.Format.Format_ARGB32)
    return image.copy()
