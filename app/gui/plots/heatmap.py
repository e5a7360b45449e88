"""A heat map of models by runtimes: each figure, and how far it is from the row's best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.look.theme import Theme, mixed
from app.gui.plots.axes import NamesAxis
from app.gui.plots.barview import BarView
from app.gui.plots.legend import Entry, plot_font
from app.gui.plots.overlay import Overlay
from app.gui.plots.style import clocks_text
from app.results.figures import batches, number, of_batch, ranked, variants
from app.results.text import rate_text, significant, time_text

_FIGURES = {
    "p50": ("latency_p50_us", "p50 latency"),
    "p99": ("latency_p99_us", "p99 latency"),
    "throughput": ("throughput_per_s", "Throughput"),
}
_WORST = 10.0
"""Ratios from here on share the last colour."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell: `ratio` >= 1 to the row's best, None where `text` says why there is none."""

    row: int
    column: int
    text: str
    ratio: float | None
    simulated: bool = False


class HeatmapView(BarView):
    """Models down, runtimes across."""

    title = "Heat map"
    hint = "Every model on every runtime; the colour tells the distance to the row's best."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {key: name for key, (_, name) in _FIGURES.items()},
            "The figure in each cell.",
        )
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.add_controls(self.figure_choice, self.batch_choice)

    def draw(self) -> str:
        models, columns, tiles = self._tiles()
        if not tiles:
            return "No finished case yet."
        across = NamesAxis("top")
        across.set_names(columns)
        plot = self.show_rows(models, None, "")
        plot.setAxisItems({"top": across})
        plot.hideAxis("bottom")
        plot.showGrid(x=False, y=False)
        for side in ("left", "top"):
            axis = plot.getAxis(side)
            axis.setPen(QColor(0, 0, 0, 0))
            axis.setTextPen(QColor(self.theme.text))
            axis.setTickFont(plot_font())
        plot.setXRange(-0.5, len(columns) - 0.5, padding=0)
        plot.setYRange(-0.5, len(models) - 0.5, padding=0)
        self.lay(TileLayer(plot, tiles, self.theme))
        clear = pg.mkPen(QColor(self.theme.border))
        self.show_legend(
            [
                Entry(text, clear, pg.mkBrush(tile_color(ratio, self.theme)))
                for text, ratio in (
                    ("best of its row", 1.0),
                    ("2x", 2.0),
                    ("5x", 5.0),
                    ("10x and more", 10.0),
                )
            ]
        )
        shown = of_batch(self.series, self.batch_choice.value)
        name = _FIGURES[self.figure_choice.value][1]
        self.show_heading(f"{name} of each model on each runtime", clocks_text(ranked(shown)))
        return ""

    def _tiles(self) -> tuple[list[str], list[str], list[Tile]]:
        self.batch_choice.set_texts(batches(self.series))
        shown = of_batch(self.series, self.batch_choice.value)
        names = variants(shown)
        models = list(dict.fromkeys(one.model for one in shown))
        columns = list(dict.fromkeys(names[one.key] for one in shown))
        figure = self.figure_choice.value
        column = _FIGURES[figure][0]
        ok = {one.key for one in ranked(shown)}
        tiles = []
        for row, model in enumerate(models):
            cells = [one for one in shown if one.model == model]
            values = {one.key: number(one, column) for one in cells if one.key in ok}
            known = [value for value in values.values() if value]
            best = (max if figure == "throughput" else min)(known, default=None)
            for one in cells:
                place = (row, columns.index(names[one.key]))
                value = values.get(one.key)
                if not value or best is None:
                    tiles.append(Tile(*place, one.status.replace("_", " "), None))
                    continue
                ratio = best / value if figure == "throughput" else value / best
                text = rate_text(value) if figure == "throughput" else time_text(value * 1e-6)
                tiles.append(Tile(*place, text, ratio, one.clock == "simulated"))
        return models, columns, tiles

    def table(self) -> Table:
        models, columns, tiles = self._tiles()
        rows: list[list[object]] = [[model] + [None] * len(columns) for model in models]
        for tile in tiles:
            rows[tile.row][tile.column + 1] = tile.text
        return ["model", *columns], rows


def tile_color(ratio: float, theme: Theme) -> QColor:
    """From the accent at the best to the plot's ground at ten times worse, by the logarithm."""
    share = min(1.0, math.log10(max(1.0, ratio)) / math.log10(_WORST))
    return mixed(QColor(theme.accent), QColor(theme.raised), share)


class TileLayer(Overlay):
    """Tiles with their text; simulated ones hatched, those without a figure only outlined."""

    def __init__(self, plot: pg.PlotItem, tiles: Sequence[Tile], theme: Theme) -> None:
        super().__init__(plot)
        self._tiles, self._theme = tuple(tiles), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        plain, small = plot_font(), plot_font(-1.0)
        for tile in self._tiles:
            left, right = self.x_px(tile.column - 0.5), self.x_px(tile.column + 0.5)
            top, bottom = self.y_px(tile.row - 0.5), self.y_px(tile.row + 0.5)
            rect = QRectF(left, top, right - left, bottom - top).adjusted(1.5, 1.5, -1.5, -1.5)
            if tile.ratio is None:
                painter.setPen(QPen(QColor(self._theme.border), 1, Qt.PenStyle.DashLine))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(rect)
                painter.setPen(QColor(self._theme.bad))
                painter.setFont(small)
                self._write(painter, rect, tile.text, small)
                continue
            color = tile_color(tile.ratio, self._theme)
            painter.fillRect(rect, color)
            ink = QColor("#000000" if color.lightnessF() > 0.58 else "#ffffff")
            if tile.simulated:
                hatch = QColor(ink)
                hatch.setAlpha(45)
                painter.fillRect(rect, QBrush(hatch, Qt.BrushStyle.BDiagPattern))
                painter.setPen(QPen(QColor(self._theme.text), 1, Qt.PenStyle.DashLine))
                painter.drawRect(rect)
            painter.setPen(ink)
            ratio = "" if tile.ratio == 1.0 else f"  {significant(tile.ratio)}x"
            self._write(painter, rect, f"{tile.text}{ratio}", plain)

    @staticmethod
    def _write(painter: QPainter, rect: QRectF, text: str, font: QFont) -> None:
        painter.setFont(font)
        room = rect.adjusted(3, 0, -3, 0)
        text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)
