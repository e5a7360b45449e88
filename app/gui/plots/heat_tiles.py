"""The tiles of a heat map: each figure, in the colour of its distance to the row's best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.formatting.text import significant
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme, mixed
from app.gui.plots.tile_grid import TileOverlay

_WORST = 10.0
"""Ratios from here on share the last colour."""
_NOTCH_PX = 11.0


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell: `ratio` >= 1 to the best of its row, None where nothing compares with it; without a
    figure `text` says why it has none."""

    row: int
    column: int
    text: str
    ratio: float | None
    simulated: bool = False
    doubted: bool = False
    has_figure: bool = True

    def texts(self) -> tuple[str, ...]:
        """What may be written into it, of which the first is that fits."""
        if self.ratio is None or self.ratio == 1.0:
            return (self.text,)
        return f"{self.text}  {significant(self.ratio)}x", self.text


def tile_color(ratio: float, theme: Theme) -> QColor:
    """From the accent at the best to the plot's ground at ten times worse, by the logarithm."""
    share = min(1.0, math.log10(max(1.0, ratio)) / math.log10(_WORST))
    return mixed(QColor(theme.accent), QColor(theme.raised), share)


class TileLayer(TileOverlay):
    """Simulated tiles are hatched and behind a rule, doubted ones have a corner cut off, those
    that nothing compares with are grey, and those without a figure only outlined."""

    def __init__(self, plot: pg.PlotItem, tiles: Sequence[Tile], theme: Theme) -> None:
        super().__init__(plot)
        self._tiles, self._theme = tuple(tiles), theme
        first = min((tile.column for tile in tiles if tile.simulated), default=None)
        measured = any(not tile.simulated for tile in tiles)
        self._rule = first if first and measured else None

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        seen = self.boundingRect()
        for tile in self.in_sight(self._tiles):
            self._paint_tile(painter, tile, self.rect_of(tile.row, tile.column))
        if self._rule is not None:
            x = self.x_px(self._rule - 0.5)
            painter.setPen(QPen(QColor(self._theme.text), 2.0))
            painter.drawLine(QPointF(x, seen.top()), QPointF(x, seen.bottom()))

    def _paint_tile(self, painter: QPainter, tile: Tile, rect: QRectF) -> None:
        theme = self._theme
        if not tile.has_figure:
            painter.setPen(QPen(QColor(theme.border), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect)
            painter.setPen(QColor(theme.muted))
            _write(painter, rect, tile.texts(), plot_font(-1.0))
            return
        color = QColor(theme.stripe) if tile.ratio is None else tile_color(tile.ratio, theme)
        ink = QColor("#000000" if color.lightnessF() > 0.58 else "#ffffff")
        painter.fillRect(rect, color)
        if tile.doubted:
            size = min(_NOTCH_PX, rect.height() / 2)
            right, top = rect.right() + 1, rect.top()
            corner = [QPointF(right - size, top), QPointF(right, top), QPointF(right, top + size)]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.warning))
            painter.drawPolygon(QPolygonF(corner))
        if tile.simulated:
            hatch = QColor(ink)
            hatch.setAlpha(45)
            painter.fillRect(rect, QBrush(hatch, Qt.BrushStyle.BDiagPattern))
            painter.setPen(QPen(QColor(theme.text), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect)
        painter.setPen(ink)
        _write(painter, rect, tile.texts(), plot_font())


def _write(painter: QPainter, rect: QRectF, texts: Sequence[str], font: QFont) -> None:
    painter.setFont(font)
    room, metrics = rect.adjusted(3, 0, -3, 0), QFontMetricsF(font)
    fitting = (text for text in texts if metrics.horizontalAdvance(text) <= room.width())
    elide = Qt.TextElideMode.ElideRight
    text = next(fitting, metrics.elidedText(texts[-1], elide, room.width()))
    painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)
