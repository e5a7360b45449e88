"""Marks of reading painted over a plot: lines, bands, frames of selected cases, marked samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen

from app.formatting.text import time_text
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import Spot

_RUG_PX = 7.0


class CrossLayer(Overlay):
    """A thin line for each coordinate that is read; moving it repaints nothing but the lines."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self.setZValue(60)
        self._x: float | None = None
        self._y: float | None = None
        self._is_pinned = False

    def move_to(self, x: float | None, y: float | None, pinned: bool) -> None:
        self._repaint()
        self._x, self._y, self._is_pinned = x, y, pinned
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

    def draw(self, painter: QPainter) -> None:
        color = QColor(self._theme.accent if self._is_pinned else self._theme.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(color, 1.0, Qt.PenStyle.SolidLine))
        painter.drawLines(self._lines())


class BandLayer(Overlay):
    """What is marked: a band between two places, and a short line at each lit sample's place.

    `upright`: the places lie on the x axis, else on the y axis.
    """

    def __init__(self, plot: pg.PlotItem, theme: Theme, *, upright: bool = True) -> None:
        super().__init__(plot, theme)
        self.setZValue(8)
        self._upright = upright
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

    def draw(self, painter: QPainter) -> None:
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
            start_x = box.left() + number * (_RUG_PX + 1.0)
            rows = np.unique(np.round(self.y_px(places)))
            ends = [(QPointF(start_x, y), QPointF(start_x + _RUG_PX, y)) for y in rows.tolist()]
        return [QLineF(*pair) for pair in ends]


_RING_PX = 8.0


class ChosenLayer(Overlay):
    """A ring around a point, a frame around a tile, a bar before and a tint over a row."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self.setZValue(55)
        self.spots: tuple[Spot, ...] = ()

    def set_spots(self, spots: Sequence[Spot]) -> None:
        if tuple(spots) != self.spots:
            self.spots = tuple(spots)
            self.update()

    def draw(self, painter: QPainter) -> None:
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


_MOST_DOTS = 400
"""More pixels than these are painted as a picture of dots."""
_DOT_PX = 3.0


class LitPoints(Overlay):
    """`points` are seconds on the axis and log10 seconds [n, n] of each round, in its colour."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self.setZValue(20)
        self._points: tuple[tuple[np.ndarray, np.ndarray, QColor], ...] = ()
        self._pixel_cache: tuple[object, list[tuple[np.ndarray, np.ndarray, QColor]]] | None = None

    def set_points(self, points: Sequence[tuple[np.ndarray, np.ndarray, QColor]]) -> None:
        self._points = tuple(point for point in points if len(point[0]))
        self._pixel_cache = None
        self.update()

    def draw(self, painter: QPainter) -> None:
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
                point = QPointF(box.left() + x, box.top() + y)
                painter.drawEllipse(point, _DOT_PX, _DOT_PX)
        self._paint_gaps(painter, box)

    def _pixels(self, box: QRectF) -> list[tuple[np.ndarray, np.ndarray, QColor]]:
        """The pixels [n, n] of this box that have a sample, each once; kept until it moves."""
        state = (self._box.viewRange(), box)
        if self._pixel_cache is None or self._pixel_cache[0] != state:
            self._pixel_cache = state, [self._find_pixels(*points, box) for points in self._points]
        return self._pixel_cache[1]

    def _find_pixels(
        self, at_s: np.ndarray, log_s: np.ndarray, color: QColor, box: QRectF
    ) -> tuple[np.ndarray, np.ndarray, QColor]:
        wide, high = int(box.width()) + 1, int(box.height()) + 1
        columns = np.rint(self.x_px(at_s) - box.left()).astype(np.int64)
        rows = np.rint(self.y_px(log_s) - box.top()).astype(np.int64)
        is_inside = (columns >= 0) & (columns < wide) & (rows >= 0) & (rows < high)
        is_filled = np.zeros(wide * high, bool)
        is_filled[rows[is_inside] * wide + columns[is_inside]] = True
        found_rows, found_columns = np.divmod(np.flatnonzero(is_filled), wide)
        return found_columns, found_rows, color

    def _paint_gaps(self, painter: QPainter, box: QRectF) -> None:
        """At the foot of the plot, as far as there is room for the words."""
        painter.setFont(plot_font(-1.5))
        metrics = QFontMetricsF(painter.font())
        foot = box.bottom() - 3.0
        for at_s, _, color in self._points:
            columns = self.x_px(at_s)
            visible_indices = np.flatnonzero((columns >= box.left()) & (columns <= box.right()))
            if (
                len(visible_indices) < 2
                or len(visible_indices) * metrics.averageCharWidth() * 4 > box.width()
            ):
                continue
            for index, next_index in pairwise(visible_indices.tolist()):
                left, right = float(columns[index]), float(columns[next_index])
                text = time_text(max(1e-9, float(at_s[next_index] - at_s[index])))
                if right - left < metrics.horizontalAdvance(text) + 10.0:
                    continue
                painter.setPen(QPen(color, 1.0))
                ends = (QPointF(left + 2.0, foot), QPointF(right - 2.0, foot))
                painter.drawLine(QLineF(*ends))
                for end in ends:
                    painter.drawLine(QLineF(end.x(), foot - 3.0, end.x(), foot + 2.0))
                painter.setPen(QColor(self._theme.text))
                text_area = QRectF(
                    left, foot - metrics.height() - 1.0, right - left, metrics.height()
                )
                painter.drawText(text_area, Qt.AlignmentFlag.AlignCenter, text)


def _dots(columns: np.ndarray, rows: np.ndarray, box: QRectF, color: QColor) -> QImage:
    """Dots of three by three pixels on clear ground."""
    wide, high = int(box.width()) + 3, int(box.height()) + 3
    canvas = np.zeros((high, wide), np.uint32)
    for down in (0, 1, 2):
        for column_step in (0, 1, 2):
            canvas[rows + down, columns + column_step] = color.rgba()
    image = QImage(canvas.tobytes(), wide, high, wide * 4, QImage.Format.Format_ARGB32)
    return image.copy()
