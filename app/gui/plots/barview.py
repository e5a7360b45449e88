"""A view of horizontal rows with names: a bar each, or whatever a layer paints there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QResizeEvent

from app.gui.look.plot_font import plot_font
from app.gui.plots.axes import LONGEST_NAME_PX, NamesAxis, SolidAxis
from app.gui.plots.bars import ROW_HEIGHT, Bar, BarLayer, bar_spots, frame_bars
from app.gui.plots.read.spots import SpotReader
from app.gui.plots.scrolled import ScrolledView

_LINES_ABOVE = 4.0
"""In heights of a line of text: heading, legend and margins."""
_LINES_A_GROUP = 4.7
"""A group's name, its ticks and its label."""
_NAMES_SHARE, _NAMES_STEP_PX = 0.3, 80.0


def _line_px() -> float:
    return QFontMetricsF(plot_font()).height()


class BarView(ScrolledView):
    """One plot as high as its rows ask for."""

    def show_rows(self, names: Sequence[str], axis: SolidAxis | None, x_label: str) -> pg.PlotItem:
        """An empty plot with a name before each row, the first on top."""
        self.reset()
        self.canvas.setMinimumHeight(self._high_px(1, len(names)))
        return self._add_rows(0, names, axis, x_label)

    def _add_rows(
        self,
        place: int,
        names: Sequence[str],
        axis: SolidAxis | None,
        x_label: str,
        title: str = "",
        beside: Sequence[str] = (),
    ) -> pg.PlotItem:
        rows = NamesAxis()
        rows.set_names(list(names), beside, room_px=self._names_px(self.width()))
        plot = self.add_plot(place, 0, axis, rows, x_label=x_label, name=title)
        rows.setTextPen(self.theme.text)
        plot.getViewBox().setMouseEnabled(False, False)
        plot.getViewBox().invertY(True)
        plot.setYRange(-0.7, len(names) - 0.3, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.setMaximumHeight(round(_LINES_A_GROUP * _line_px()) + 2 * ROW_HEIGHT * len(names))
        self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
        self.body.layout.setRowStretchFactor(place, len(names) + 2)
        return plot

    @staticmethod
    def _names_px(width: int) -> float:
        """What names may take of so wide a view, in steps: each draws the rows anew."""
        return max(LONGEST_NAME_PX, _NAMES_STEP_PX * (_NAMES_SHARE * width // _NAMES_STEP_PX))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        if self._names_px(event.size().width()) != self._names_px(event.oldSize().width()):
            self.mark_dirty()

    @staticmethod
    def _high_px(groups: int, rows: int) -> int:
        """What so many groups with so many rows in all need, with all that is written around them:
        what is lower is scrolled, since a plot that gets less draws its bars without a height."""
        return round((_LINES_ABOVE + _LINES_A_GROUP * groups) * _line_px()) + ROW_HEIGHT * rows

    def show_bars(
        self, bars: Sequence[Bar], axis: SolidAxis | None, x_label: str, *, log: bool
    ) -> None:
        self.show_groups({"": bars}, lambda: axis, x_label, log=log)

    def show_groups(
        self,
        groups: Mapping[str, Sequence[Bar]],
        make_axis: Callable[[], SolidAxis | None],
        x_label: str,
        *,
        log: bool,
    ) -> None:
        """Bars below the name of their group, each group over a scale of its own."""
        self.reset()
        rows = sum(map(len, groups.values()))
        self.canvas.setMinimumHeight(self._high_px(len(groups), rows))
        every = [bar.name for bars in groups.values() for bar in bars]
        for place, (title, bars) in enumerate(groups.items()):
            names = [bar.name for bar in bars]
            plot = self._add_rows(place, names, make_axis(), x_label, title, every)
            self.lay(BarLayer(plot, bars, self.theme, log=log))
            frame_bars(plot, bars, log=log)
            self.let_read(plot, SpotReader(bar_spots(bars, log=log)))
