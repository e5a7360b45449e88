"""Matrices: figures over any two settings by their ratio to the best, and how each check ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.matrix import VARIANT, Cell, Pivot, matrix, pivot, sides, status_text
from app.analysis.plot_data.series import (
    Series,
    batches,
    interval_columns,
    number,
    of_batch,
    ranked,
)
from app.cases.status import STATUSES, Tone
from app.formatting.text import interval, latency, rate_interval, rate_text, significant, time_text
from app.gui.look.controls import Choice, Switch
from app.gui.look.overlay import plot_font
from app.gui.look.text import Table
from app.gui.look.theme import Theme, mixed
from app.gui.plots.legend import Entry
from app.gui.plots.read.reading import CELL, Brush, Spot, SpotReader
from app.gui.plots.scrolled import TileGrid, TileOverlay
from app.gui.plots.style import clocks_text, legend_text, remark

_WORST = 10.0
"""Ratios from here on share the last colour."""
_NOTCH_PX = 11.0


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell: without a `color` it has no figure, and its text says why. Of `texts` the first
    that fits is written."""

    row: int
    column: int
    texts: tuple[str, ...]
    color: QColor | None
    simulated: bool = False
    doubted: bool = False


def tile_color(ratio: float, theme: Theme) -> QColor:
    """From the accent at the best to the plot's ground at ten times worse, by the logarithm."""
    share = min(1.0, math.log10(max(1.0, ratio)) / math.log10(_WORST))
    return mixed(QColor(theme.accent), QColor(theme.raised), share)


class TileLayer(TileOverlay):
    """Simulated tiles are hatched and in the matrix behind a `rule` before their first column,
    doubted ones have a corner cut off, and those without a figure are only outlined."""

    def __init__(
        self, plot: pg.PlotItem, tiles: Sequence[Tile], theme: Theme, rule: int | None = None
    ) -> None:
        super().__init__(plot, theme)
        self._tiles, self._rule = tuple(tiles), rule
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def draw(self, painter: QPainter) -> None:
        view_rect = self.boundingRect()
        for tile in self.in_sight(self._tiles):
            self._paint_tile(painter, tile, self.rect_of(tile.row, tile.column))
        if self._rule is not None:
            x = self.x_px(self._rule - 0.5)
            painter.setPen(QPen(QColor(self._theme.text), 2.0))
            painter.drawLine(QPointF(x, view_rect.top()), QPointF(x, view_rect.bottom()))

    def _paint_tile(self, painter: QPainter, tile: Tile, rect: QRectF) -> None:
        theme = self._theme
        color = tile.color
        if color is None:
            painter.setPen(QPen(QColor(theme.border), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect)
            painter.setPen(QColor(theme.muted))
            _write(painter, rect, tile.texts, plot_font(-1.0))
            return
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
        _write(painter, rect, tile.texts, plot_font())


def _write(painter: QPainter, rect: QRectF, texts: Sequence[str], font: QFont) -> None:
    painter.setFont(font)
    room, metrics = rect.adjusted(3, 0, -3, 0), QFontMetricsF(font)
    fitting = (text for text in texts if metrics.horizontalAdvance(text) <= room.width())
    elide = Qt.TextElideMode.ElideRight
    text = next(fitting, metrics.elidedText(texts[-1], elide, room.width()))
    painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)


_FIGURES = {
    "p50": ("latency_p50_us", "p50 latency"),
    "p99": ("latency_p99_us", "p99 latency"),
    "throughput": ("throughput_per_s", "Throughput"),
}


class MatrixView(TileGrid):
    """Models down and runtimes across, until somebody chooses otherwise."""

    title = "Matrix"
    hint = (
        "Cases over any two of their settings; colour: ratio to the best of the row that does the "
        "same work, at the same precision, threads, scenario and clock."
    )

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {key: name for key, (_, name) in _FIGURES.items()},
            "The figure in each cell.",
        )
        self.rows_choice = Choice("Rows", {}, "Which setting goes down, a row for each value.")
        self.columns_choice = Choice("Columns", {}, "Which setting goes across.")
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.simulated_box = Switch("Simulated", "Simulated cards too, in a group of their own.")
        self.add_controls(
            self.figure_choice, self.rows_choice, self.columns_choice, self.batch_choice,
            self.simulated_box,
        )  # fmt: skip

    def offers(self) -> bool:
        return len(ranked(self._all_series)) > 1

    def draw(self) -> str:
        pivot_table = self._pivot()
        if not pivot_table.cells:
            return "No finished case yet: measure several models on several runtimes."
        if self.rows_choice.value == self.columns_choice.value:
            return "Choose two settings that are not the same."
        tiles = [self._tile(cell) for cell in pivot_table.cells]
        plot = self.show_grid(pivot_table.rows, pivot_table.columns)
        first = min((tile.column for tile in tiles if tile.simulated), default=None)
        has_measured = any(not tile.simulated for tile in tiles)
        self.lay(TileLayer(plot, tiles, self.theme, first if first and has_measured else None))
        self.let_read(plot, SpotReader([self._spot(cell) for cell in pivot_table.cells]))
        clear = pg.mkPen(QColor(self.theme.border))
        visible_cases = ranked([cell.case for cell in pivot_table.cells])
        self.show_legend(
            [
                Entry(text, clear, pg.mkBrush(tile_color(ratio, self.theme)))
                for text, ratio in (
                    ("best of those it compares with", 1.0),
                    ("2x", 2.0),
                    ("5x", 5.0),
                    ("10x and more", 10.0),
                )
            ]
            + [Entry("nothing to compare with", clear, pg.mkBrush(QColor(self.theme.stripe)))]
            + self._doubt_entry(visible_cases)
        )
        self._tell(pivot_table, visible_cases)
        return ""

    def _tell(self, pivot_table: Pivot, series: list[Series]) -> None:
        down, columns_text = self.rows_choice.currentText(), self.columns_choice.currentText()
        columns_text = "runtime" if self.columns_choice.value == VARIANT else columns_text.lower()
        several = any(cell.count > 1 for cell in pivot_table.cells)
        notes = [clocks_text(series), "colour: only within a row, among cases that do the same"]
        notes += ["of several cases in one place the best"] if several else []
        name = _FIGURES[self.figure_choice.value][1]
        self.show_heading(f"{name} of each {down.lower()} by {columns_text}", "; ".join(notes))

    def _doubt_entry(self, series: list[Series]) -> list[Entry]:
        if all(quality_of(case_series) == "sound" for case_series in series):
            return []
        brush = pg.mkBrush(QColor(self.theme.warning))
        return [Entry("corner: doubted, its row has warnings", None, brush)]

    def _pivot(self) -> Pivot:
        """Of the cases of the chosen batch, unless the batch is a side of the matrix."""
        choices = sides(self.series)
        self.rows_choice.set_texts(choices)
        self.columns_choice.set_texts({VARIANT: choices[VARIANT]} | choices)
        down, columns = self.rows_choice.value, self.columns_choice.value
        over_batch = "batch_size" in (down, columns)
        self.batch_choice.set_texts({} if over_batch else batches(self.series))
        self.batch_choice.setVisible(not over_batch)
        visible_series = of_batch(self.series, self.batch_choice.value)
        simulated = self.simulated_box.isChecked()
        visible_series = [s for s in visible_series if simulated or s.clock != "simulated"]
        figure = self.figure_choice.value
        column = _FIGURES[figure][0]
        return pivot(visible_series, down, columns, column, highest=figure == "throughput")

    def _text(self, cell: Cell) -> str:
        if cell.value is None:
            return remark(cell.case).removeprefix(", ") or cell.case.status.replace("_", " ")
        is_rate = self.figure_choice.value == "throughput"
        return rate_text(cell.value) if is_rate else time_text(cell.value * 1e-6)

    def _tile(self, cell: Cell) -> Tile:
        """Grey where nothing compares with it."""
        texts: tuple[str, ...] = (self._text(cell),)
        if cell.value is None:
            return Tile(cell.row, cell.column, texts, None, cell.simulated)
        if cell.ratio not in (None, 1.0):
            texts = (f"{texts[0]}  {significant(cell.ratio or 1.0)}x", *texts)
        grey = QColor(self.theme.stripe)
        color = grey if cell.ratio is None else tile_color(cell.ratio, self.theme)
        is_doubted = quality_of(cell.case) != "sound"
        return Tile(cell.row, cell.column, texts, color, cell.simulated, is_doubted)

    def _spot(self, cell: Cell) -> Spot:
        column, name = _FIGURES[self.figure_choice.value]
        lines = [figure_text(cell.case, column, name), str(cell.case.row.get("reason") or "")]
        lines += [f"the best of {cell.count} cases"] if cell.count > 1 else []
        texts, keys = tuple(filter(None, lines)), (cell.case.key,)
        # A click chooses the case, a double click shows all its iterations.
        opens = Brush("latency", keys=keys)
        return Spot(cell.column, cell.row, legend_text(cell.case), texts, keys, None, CELL, opens)

    def table(self) -> Table:
        pivot_table = self._pivot()
        rows: list[list[object]] = [
            [name] + [None] * len(pivot_table.columns) for name in pivot_table.rows
        ]
        for cell in pivot_table.cells:
            rows[cell.row][cell.column + 1] = self._text(cell)
        return [self.rows_choice.value, *pivot_table.columns], rows


_TINT = 0.72
"""So much of the ground is in a tile's colour, that text stands out on it."""
_TONES: dict[Tone, str] = {
    "ok": "runs there",
    "warning": "in part, unsupported or not here",
    "error": "failed",
}


class ChecksView(TileGrid):
    """Models down, runtimes across."""

    title = "Check"
    hint = "How every model ended on every runtime; a click on a place selects its row."

    def offers(self) -> bool:
        return any(case_series.row.get("check_level") for case_series in self._all_series)

    def draw(self) -> str:
        if not self.series:
            return "No case yet."
        checks = matrix([case_series.case for case_series in self.series])
        plot = self.show_grid(checks.rows, checks.columns)
        tiles, spots, tones = [], [], list[Tone | None]()
        for case_series in self.series:
            row, column = checks.places[case_series.case.case_id]
            facts = next((f for name, f in STATUSES.items() if name == case_series.status), None)
            text = _check_text(case_series)
            color = tone_color(facts.tone, self.theme) if facts else None
            tiles.append(Tile(row, column, (text,), color, case_series.clock == "simulated"))
            why = str(case_series.row.get("reason") or (facts.meaning if facts else ""))
            spots.append(
                Spot(column, row, case_series.label, (text, why), (case_series.key,), reach=CELL)
            )
            tones.append(facts.tone if facts else None)
        self.lay(TileLayer(plot, tiles, self.theme))
        self.let_read(plot, SpotReader(spots))
        clear = pg.mkPen(QColor(self.theme.border))
        self.show_legend(
            [
                Entry(text, clear, pg.mkBrush(tone_color(tone, self.theme)))
                for tone, text in _TONES.items()
                if tone in tones
            ]
        )
        ended_count = len(tones) - tones.count(None)
        note = f"{tones.count('ok')} of {ended_count} run there"
        self.show_heading("Each model on each runtime", note)
        return ""

    def table(self) -> Table:
        checks = matrix([case_series.case for case_series in self.series])
        rows: list[list[object]] = [[model] + [None] * len(checks.columns) for model in checks.rows]
        for case_series in self.series:
            row, column = checks.places[case_series.case.case_id]
            rows[row][column + 1] = _check_text(case_series)
        return ["model", *checks.columns], rows


def _check_text(series: Series) -> str:
    return status_text(series.status, series.row.get("check_level"))


def tone_color(tone: Tone, theme: Theme) -> QColor:
    """A tint of the colour that a status has in the table of rows."""
    full = {"ok": theme.good, "warning": theme.warning, "error": theme.bad}[tone]
    return mixed(QColor(full), QColor(theme.base), _TINT)


def figure_text(series: Series, column: str, name: str) -> str:
    """`p50 20.1 µs, 95 %: 20.05 to 20.14 µs`; "" for a figure that the case has not."""
    value = number(series, column)
    if value is None:
        return ""
    low, high = (number(series, end) for end in interval_columns(column))
    is_rate = column.endswith("_per_s")
    text = f"{name} {rate_text(value) if is_rate else latency(value)}"
    if low is None or high is None:
        return text
    limits_text = rate_interval(low, high) if is_rate else interval(low, high)
    return f"{text}, 95 %: {limits_text}"
