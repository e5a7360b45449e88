"""A matrix over any two settings: each figure, and its ratio to the best that compares with it."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.formatting.text import rate_text, time_text
from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.heat_tiles import Tile, TileLayer, tile_color
from app.gui.plots.legend import Entry
from app.gui.plots.read.spots import CELL, Spot, SpotReader
from app.gui.plots.style import clocks_text, remark
from app.gui.plots.tile_grid import TileGrid
from app.insights.quality import quality_of
from app.plot_data.matrix import VARIANT, Cell, Pivot, pivot, sides
from app.plot_data.series import Series, batches, of_batch, ranked

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
        return len(ranked(self._fed)) > 1

    def draw(self) -> str:
        found = self._pivot()
        if not found.cells:
            return "No finished case yet: measure several models on several runtimes."
        if self.rows_choice.value == self.columns_choice.value:
            return "Choose two settings that are not the same."
        tiles = [self._tile(cell) for cell in found.cells]
        plot = self.show_grid(found.rows, found.columns)
        self.lay(TileLayer(plot, tiles, self.theme))
        self.let_read(plot, SpotReader([self._spot(cell) for cell in found.cells]))
        clear = pg.mkPen(QColor(self.theme.border))
        shown = ranked([cell.case for cell in found.cells])
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
            + self._doubt_entry(shown)
        )
        self._tell(found, shown)
        return ""

    def _tell(self, found: Pivot, shown: list[Series]) -> None:
        down, across = self.rows_choice.currentText(), self.columns_choice.currentText()
        across = "runtime" if self.columns_choice.value == VARIANT else across.lower()
        several = any(cell.count > 1 for cell in found.cells)
        notes = [clocks_text(shown), "colour: only within a row, among cases that do the same"]
        notes += ["of several cases in one place the best"] if several else []
        name = _FIGURES[self.figure_choice.value][1]
        self.show_heading(f"{name} of each {down.lower()} by {across}", "; ".join(notes))

    def _doubt_entry(self, shown: list[Series]) -> list[Entry]:
        if all(quality_of(one) == "sound" for one in shown):
            return []
        brush = pg.mkBrush(QColor(self.theme.warning))
        return [Entry("corner: doubted, its row has warnings", None, brush)]

    def _pivot(self) -> Pivot:
        """Of the cases of the chosen batch, unless the batch is a side of the matrix."""
        offered = sides(self.series)
        self.rows_choice.set_texts(offered)
        self.columns_choice.set_texts({VARIANT: offered[VARIANT]} | offered)
        down, columns = self.rows_choice.value, self.columns_choice.value
        over_batch = "batch_size" in (down, columns)
        self.batch_choice.set_texts({} if over_batch else batches(self.series))
        self.batch_choice.setVisible(not over_batch)
        shown = of_batch(self.series, self.batch_choice.value)
        simulated = self.simulated_box.isChecked()
        shown = [one for one in shown if simulated or one.clock != "simulated"]
        figure = self.figure_choice.value
        column = _FIGURES[figure][0]
        return pivot(shown, down, columns, column, highest=figure == "throughput")

    def _tile(self, cell: Cell) -> Tile:
        if cell.value is None:
            word = remark(cell.case).removeprefix(", ") or cell.case.status.replace("_", " ")
            return Tile(cell.row, cell.column, word, None, cell.simulated, has_figure=False)
        is_rate = self.figure_choice.value == "throughput"
        text = rate_text(cell.value) if is_rate else time_text(cell.value * 1e-6)
        doubted = quality_of(cell.case) != "sound"
        return Tile(cell.row, cell.column, text, cell.ratio, cell.simulated, doubted)

    def _spot(self, cell: Cell) -> Spot:
        column, name = _FIGURES[self.figure_choice.value]
        lines = [figure_text(cell.case, column, name), str(cell.case.row.get("reason") or "")]
        lines += [f"the best of {cell.count} cases"] if cell.count > 1 else []
        return case_spot(cell.case, cell.column, cell.row, tuple(lines), reach=CELL)

    def table(self) -> Table:
        found = self._pivot()
        rows: list[list[object]] = [[name] + [None] * len(found.columns) for name in found.rows]
        for cell in found.cells:
            rows[cell.row][cell.column + 1] = self._tile(cell).text
        return [self.rows_choice.value, *found.columns], rows
