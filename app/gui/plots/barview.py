"""A view of horizontal rows with names: a bar each, or whatever a layer paints there."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.gui.plots.axes import NamesAxis, SolidAxis
from app.gui.plots.bars import ROW_HEIGHT, Bar, BarLayer, frame_bars
from app.gui.plots.scrolled import ScrolledView


class BarView(ScrolledView):
    """One plot as high as its rows ask for."""

    def show_rows(self, names: Sequence[str], axis: SolidAxis | None, x_label: str) -> pg.PlotItem:
        """An empty plot with a name before each row, the first on top."""
        self.reset()
        rows = NamesAxis()
        rows.set_names(list(names))
        plot = self.add_plot(0, 0, axis, rows, x_label=x_label)
        rows.setTextPen(self.theme.text)
        plot.getViewBox().setMouseEnabled(False, False)
        plot.getViewBox().invertY(True)
        plot.setYRange(-0.7, len(names) - 0.3, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.setMaximumHeight(70 + 2 * ROW_HEIGHT * len(names))
        self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
        self.canvas.setMinimumHeight(130 + ROW_HEIGHT * len(names))
        return plot

    def show_bars(
        self, bars: Sequence[Bar], axis: SolidAxis | None, x_label: str, *, log: bool
    ) -> None:
        plot = self.show_rows([bar.name for bar in bars], axis, x_label)
        self.lay(BarLayer(plot, bars, self.theme, log=log))
        frame_bars(plot, bars, log=log)
