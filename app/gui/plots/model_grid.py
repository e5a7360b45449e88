"""A plot for each model, as many beside each other as fit, with lines of points and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QResizeEvent

from app.formatting.text import is_too_noisy
from app.gui.plots.axes import SolidAxis
from app.gui.plots.intervals import lay_intervals
from app.gui.plots.read.spots import Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import SeriesStyle
from app.plot_data.series import Series, interval_columns, number

_PANEL_HEIGHT, _LEAST_WIDTH = 210, 300


@dataclass(frozen=True, slots=True)
class Point:
    """One case on a line: where it lies, its figure and the interval's ends, as the axes have them.

    One that is not `sound` is drawn hollow. `spot` is what is read there.
    """

    at: float
    figure: float
    interval: tuple[float, float] | None
    sound: bool = True
    spot: Spot | None = None


def interval_of(series: Series, column: str, unit: float) -> tuple[float, float] | None:
    """log10 of the ends of a latency's or a rate's 95 % interval; None where it has none
    or is too noisy for one."""
    low, high = (number(series, name) for name in interval_columns(column))
    if not low or not high or is_too_noisy(low, high):
        return None
    return math.log10(low * unit), math.log10(high * unit)


class ModelGrid(ScrolledView):
    """Subclasses make a plot per model with `panel`, and draw lines into it."""

    def reset(self) -> None:
        super().reset()
        self._spots: dict[pg.PlotItem, list[Spot]] = {}

    def make_room(self, models: Sequence[str]) -> None:
        """Make the canvas as high as the rows of plots need."""
        rows = -(-len(models) // self.columns(len(models)))
        self.canvas.setMinimumHeight(90 + _PANEL_HEIGHT * rows)

    def columns(self, models: int) -> int:
        """How many plots stand beside each other."""
        fitting = max(1, self.width() // _LEAST_WIDTH)
        return min(fitting, models)

    def panel(
        self,
        place: int,
        models: Sequence[str],
        bottom: SolidAxis,
        left: SolidAxis,
        x_label: str,
        y_label: str,
    ) -> pg.PlotItem:
        """The plot of the model at this place; labels stand at the outer ones alone."""
        columns = self.columns(len(models))
        plot = self.add_plot(
            *divmod(place, columns),
            bottom,
            left,
            name=models[place],
            x_label=x_label if place >= len(models) - columns else "",
            y_label=y_label if place % columns == 0 else "",
        )
        plot.getAxis("left").setWidth(76 if place % columns == 0 else 58)
        plot.getViewBox().setMouseEnabled(False, False)
        return plot

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        if event.size().width() // _LEAST_WIDTH != event.oldSize().width() // _LEAST_WIDTH:
            self.mark_dirty()  # more or fewer plots fit beside each other

    def line(
        self, plot: pg.PlotItem, points: list[Point], style: SeriesStyle, symbol: str = "o"
    ) -> None:
        """Points in their order, joined, with their intervals; each is read."""
        if not points:
            return
        points.sort(key=lambda point: point.at)
        spots = [replace(point.spot, color=style.color) for point in points if point.spot]
        self._spots.setdefault(plot, []).extend(spots)
        self.let_read(plot, SpotReader(self._spots[plot]))
        hollow = QBrush(Qt.BrushStyle.NoBrush)
        bounded = [(point, point.interval) for point in points if point.interval]
        if bounded:
            at = np.array([point.at for point, _ in bounded])
            low, high = np.array([interval for _, interval in bounded]).T
            lay_intervals(self.lay, plot, at, low, high, pg.mkPen(style.color))
        plot.plot(
            [point.at for point in points],
            [point.figure for point in points],
            pen=style.pen(1.8),
            symbol=symbol,
            symbolSize=6,
            symbolPen=pg.mkPen(style.color, width=1.4),
            symbolBrush=[style.solid() if point.sound else hollow for point in points],
            antialias=True,
        )
