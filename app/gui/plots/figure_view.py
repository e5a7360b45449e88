"""Views of figures of `app/present`: a plot for each, side by side where they fit, on one scale.

A subclass says which figures; drawing, reading, scales and export are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyqtgraph as pg
from PySide6.QtGui import QResizeEvent

from app.gui.plots.axes import NamesAxis
from app.gui.plots.figure_layer import FigureLayer, Span, axis_item, place, spans
from app.gui.plots.read.brush import Brush
from app.gui.plots.read.reading import Line, Place, Reading
from app.gui.plots.read.spots import Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import SeriesStyle
from app.present.figure import Figure, Mark

_PANEL_HEIGHT, _LEAST_WIDTH, _ROW_HEIGHT = 230, 320, 26
_AROUND_PX, _AROUND_ROWS_PX = 90, 76


class FigureView(ScrolledView):
    """`show_figures` draws them; `styles` are by the name of a series."""

    def show_figures(
        self, figures: Sequence[Figure], styles: Mapping[str, SeriesStyle]
    ) -> list[pg.PlotItem]:
        """The plots, each with its layer and its reader."""
        self.reset()
        columns = 1 if figures[0].is_by_name else self._columns(len(figures))
        self.canvas.setMinimumHeight(self._height(figures, columns))
        x_span, y_span = spans(figures)
        beside = [name for figure in figures for name in figure.y.names]
        made = []
        for number, figure in enumerate(figures):
            plot = self._panel(number, figure, len(figures), columns, beside)
            self.lay(FigureLayer(plot, figure, styles, self.theme))
            self.let_read(plot, FigureReader(figure, styles))
            self._show_range(plot, figure, x_span, y_span)
            made.append(plot)
        return made

    def _panel(
        self, number: int, figure: Figure, count: int, columns: int, beside: Sequence[str]
    ) -> pg.PlotItem:
        left = axis_item(figure.y, "left")
        if isinstance(left, NamesAxis):
            left.set_names(figure.y.names, beside)
        leftmost, lowest = number % columns == 0, number >= count - columns
        plot = self.add_plot(
            *divmod(number, columns),
            axis_item(figure.x, "bottom"),
            left,
            name=figure.title if count > 1 else "",
            x_label=figure.x.title if lowest else "",
            y_label=figure.y.title if leftmost else "",
        )
        if isinstance(left, NamesAxis):
            left.setTextPen(self.theme.text)
            plot.showGrid(x=True, y=False, alpha=0.35)
            self.body.layout.setRowStretchFactor(number, len(figure.y.names) + 2)
            plot.setMaximumHeight(_AROUND_ROWS_PX + 2 * _ROW_HEIGHT * len(figure.y.names))
        else:
            left.setWidth(76 if leftmost else 58)
        plot.getViewBox().setMouseEnabled(False, False)
        return plot

    @staticmethod
    def _show_range(plot: pg.PlotItem, figure: Figure, x: Span, y: Span) -> None:
        plot.setXRange(*x, padding=0)
        if figure.is_by_name:
            plot.getViewBox().invertY(True)
            head = 1.3 if any(mark.label for mark in figure.marks) else 0.7
            plot.setYRange(-head, len(figure.y.names) - 0.3, padding=0)
        else:
            plot.setYRange(*y, padding=0)

    def _columns(self, figures: int) -> int:
        """How many plots stand beside each other."""
        return min(max(1, self.width() // _LEAST_WIDTH), figures)

    @staticmethod
    def _height(figures: Sequence[Figure], columns: int) -> int:
        if figures[0].is_by_name:
            rows = sum(len(figure.y.names) for figure in figures)
            return _AROUND_PX + _AROUND_ROWS_PX * len(figures) + _ROW_HEIGHT * rows
        return _AROUND_PX + _PANEL_HEIGHT * -(-len(figures) // columns)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.size().width() // _LEAST_WIDTH != event.oldSize().width() // _LEAST_WIDTH:
            self.mark_dirty()  # more or fewer plots fit beside each other


class FigureReader(SpotReader):
    """The nearest mark, with all others of its place on the axis below it, the highest first."""

    def __init__(self, figure: Figure, styles: Mapping[str, SeriesStyle]) -> None:
        self._by_name = figure.is_by_name
        spots = [
            _spot(figure, mark, number, series.cases, styles[series.name])
            for series in figure.series
            for number, mark in enumerate(series.marks)
        ]
        super().__init__(spots, by_row=self._by_name)

    def at(self, place: Place) -> Reading | None:
        found = super().at(place)
        if found is None:
            return None
        here = [spot for spot in self._spots if self._shares(spot, found)]
        here.sort(key=lambda spot: spot.x if self._by_name else -spot.y)
        lines = tuple(Line(text, spot.color) for spot in here for text in spot.lines)
        return Reading(found.title, lines, found.x, found.y, found.keys, found.opens)

    def _shares(self, spot: Spot, found: Reading) -> bool:
        return spot.y == found.y if self._by_name else spot.x == found.x


def _spot(
    figure: Figure, mark: Mark, number: int, cases: Sequence[str], style: SeriesStyle
) -> Spot:
    """A click chooses the case, a double click shows its iterations; a series has one case for all
    of its marks, or one for each."""
    keys = (cases[number] if len(cases) > 1 else cases[0],) if cases else ()
    opens = Brush("latency", keys=keys) if keys else None
    x, y = place(figure.x, mark.x), place(figure.y, mark.y)
    title = figure.y.names[round(mark.y)] if figure.is_by_name else _title(figure, mark)
    return Spot(x, y, title, (mark.text,), keys, style.color, opens=opens)


def _title(figure: Figure, mark: Mark) -> str:
    shown = next((text for value, text in figure.x.ticks if value == mark.x), f"{mark.x:.6g}")
    return f"{figure.x.title} {shown}"
