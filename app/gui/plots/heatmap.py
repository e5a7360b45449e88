"""A heat map of models by runtimes: each figure, and how far it is from the row's best.

The best is of one clock and one precision: what is simulated is no rival of what is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.look.theme import Theme, mixed
from app.gui.plots.axes import NamesAxis
from app.gui.plots.barview import BarView
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.legend import Entry, plot_font
from app.gui.plots.overlay import Overlay
from app.gui.plots.read.spots import CELL, Spot, SpotReader
from app.gui.plots.style import clocks_text, hollow_entry
from app.results.doubts import standing
from app.results.figures import batches, number, of_batch, ranked, variants
from app.results.series import Series
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
    """One cell: `ratio` >= 1 to the best of its clock and precision in the row, None where `text`
    says why there is no figure."""

    row: int
    column: int
    text: str
    ratio: float | None
    simulated: bool = False
    doubted: bool = False
    spot: Spot | None = None


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
        self.simulated_box = Switch("Simulated", "Simulated cards too, in a group of their own.")
        self.add_controls(self.figure_choice, self.batch_choice, self.simulated_box)

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
        self.lay(TileLayer(plot, tiles, self.theme, _measured_columns(tiles)))
        self.let_read(plot, SpotReader([tile.spot for tile in tiles if tile.spot]))
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
            + hollow_entry(ranked(self._shown()), self.theme, dots=False)
        )
        name = _FIGURES[self.figure_choice.value][1]
        self.show_heading(
            f"{name} of each model on each runtime",
            f"{clocks_text(ranked(self._shown()))}; best of a row: of one clock and one precision",
        )
        return ""

    def _shown(self) -> list[Series]:
        """The cases of the chosen batch, what is measured before what is simulated."""
        found = of_batch(self.series, self.batch_choice.value)
        found = [one for one in found if self.simulated_box.isChecked() or not _simulated(one)]
        return sorted(found, key=_simulated)

    def _tiles(self) -> tuple[list[str], list[str], list[Tile]]:
        self.batch_choice.set_texts(batches(self.series))
        shown = self._shown()
        names = variants(shown)
        there = {one.model for one in shown}
        models = [name for name in dict.fromkeys(one.model for one in self.series) if name in there]
        columns = list(dict.fromkeys(names[one.key] for one in shown))
        figure = self.figure_choice.value
        column = _FIGURES[figure][0]
        ok = {one.key for one in ranked(shown)}
        tiles = []
        for row, model in enumerate(models):
            cells = [one for one in shown if one.model == model]
            values = {one.key: number(one, column) for one in cells if one.key in ok}
            best = _bests(cells, values, highest=figure == "throughput")
            for one in cells:
                place = (row, columns.index(names[one.key]))
                told = (figure_text(one, column, _FIGURES[figure][1]), *_why(one))
                spot = case_spot(one, place[1], row, told, reach=CELL)
                value = values.get(one.key)
                if not value:
                    word = one.status.replace("_", " ")
                    tiles.append(Tile(*place, word, None, _simulated(one), spot=spot))
                    continue
                ahead = best[_rivals(one)]
                ratio = ahead / value if figure == "throughput" else value / ahead
                text = rate_text(value) if figure == "throughput" else time_text(value * 1e-6)
                doubted = standing(one) != "sound"
                tiles.append(Tile(*place, text, ratio, _simulated(one), doubted, spot))
        return models, columns, tiles

    def table(self) -> Table:
        models, columns, tiles = self._tiles()
        rows: list[list[object]] = [[model] + [None] * len(columns) for model in models]
        for tile in tiles:
            rows[tile.row][tile.column + 1] = tile.text
        return ["model", *columns], rows


def _why(series: Series) -> tuple[str, ...]:
    reason = series.row.get("reason")
    return (str(reason),) if reason else ()


def _simulated(series: Series) -> bool:
    return series.clock == "simulated"


def _rivals(series: Series) -> tuple[str, str]:
    """Whose figures a case's are compared with: its own clock's, in the precision that ran."""
    return series.clock, str(series.row.get("precision") or series.case.precision)


def _bests(
    cells: Sequence[Series], values: Mapping[str, float | None], *, highest: bool
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for one in cells:
        if value := values.get(one.key):
            found.setdefault(_rivals(one), []).append(value)
    return {rivals: (max if highest else min)(known) for rivals, known in found.items()}


def _measured_columns(tiles: Sequence[Tile]) -> int | None:
    """How many columns stand before the rule, None where there is none to draw."""
    first = min((tile.column for tile in tiles if tile.simulated), default=None)
    return first if first and any(not tile.simulated for tile in tiles) else None


def tile_color(ratio: float, theme: Theme) -> QColor:
    """From the accent at the best to the plot's ground at ten times worse, by the logarithm."""
    share = min(1.0, math.log10(max(1.0, ratio)) / math.log10(_WORST))
    return mixed(QColor(theme.accent), QColor(theme.raised), share)


class TileLayer(Overlay):
    """Tiles with their text; simulated ones hatched and behind a rule, doubted ones hollow, those
    without a figure only outlined."""

    def __init__(
        self, plot: pg.PlotItem, tiles: Sequence[Tile], theme: Theme, rule: int | None = None
    ) -> None:
        super().__init__(plot)
        self._tiles, self._theme, self._rule = tuple(tiles), theme, rule

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
            ink = QColor("#000000" if color.lightnessF() > 0.58 else "#ffffff")
            if tile.doubted:
                ink = QColor(self._theme.text)
                painter.setPen(QPen(color, 4.0))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(rect.adjusted(2.0, 2.0, -2.0, -2.0))
            else:
                painter.fillRect(rect, color)
            if tile.simulated:
                hatch = QColor(ink)
                hatch.setAlpha(45)
                painter.fillRect(rect, QBrush(hatch, Qt.BrushStyle.BDiagPattern))
                painter.setPen(QPen(QColor(self._theme.text), 1, Qt.PenStyle.DashLine))
                painter.drawRect(rect)
            painter.setPen(ink)
            ratio = "" if tile.ratio == 1.0 else f"  {significant(tile.ratio)}x"
            self._write(painter, rect, f"{tile.text}{ratio}", plain)
        if self._rule is not None:
            x, box = self.x_px(self._rule - 0.5), self.boundingRect()
            painter.setPen(QPen(QColor(self._theme.text), 2.0))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    @staticmethod
    def _write(painter: QPainter, rect: QRectF, text: str, font: QFont) -> None:
        painter.setFont(font)
        room = rect.adjusted(3, 0, -3, 0)
        text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)
