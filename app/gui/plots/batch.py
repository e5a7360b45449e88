"""Throughput and latency against the batch size: one small plot per model, all axes logarithmic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.axes import BatchAxis, count_axis, time_axis
from app.gui.plots.legend import Entry
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import SeriesStyle, clocks_text, series_styles
from app.results.figures import batch, number, ranked, variants
from app.results.series import Series
from app.results.text import CLOCK_TEXT

_FIGURES = {
    "throughput": ("throughput_per_s", "Throughput", 1.0),
    "p50": ("latency_p50_us", "Latency p50", 1e-6),
    "p99": ("latency_p99_us", "Latency p99", 1e-6),
}
_PANEL_HEIGHT, _LEAST_WIDTH = 210, 300


@dataclass(frozen=True, slots=True)
class Point:
    """One case on a line: log10 of its batch size, of its figure, and of the interval's ends."""

    batch: float
    figure: float
    interval: tuple[float, float] | None


class BatchView(ScrolledView):
    """A grid of models; in each, one line per runtime over the batch sizes measured."""

    title = "Batch size"
    hint = "How throughput and latency change with the number of inputs per inference."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {key: name for key, (_, name, _) in _FIGURES.items()},
            "Inputs per second, or the latency of a whole batch with its 95 % interval.",
        )
        self.add_controls(self.figure_choice)

    def draw(self) -> str:
        column, name, unit = _FIGURES[self.figure_choice.value]
        points = {one.key: _point(one, column, unit) for one in ranked(self.series)}
        shown = [one for one in ranked(self.series) if points[one.key] is not None]
        self.reset()
        if not shown:
            self.canvas.setMinimumHeight(0)
            return "No finished case with a batch size yet."
        labels = variants(shown)
        kinds = {labels[one.key]: one for one in shown}
        look = series_styles(list(kinds.values()), self.theme)
        styles = {label: look[one.key] for label, one in kinds.items()}
        models = list(dict.fromkeys(one.model for one in shown))
        columns = self._columns(len(models))
        self.canvas.setMinimumHeight(90 + _PANEL_HEIGHT * -(-len(models) // columns))
        for place, model in enumerate(models):
            plot = self.add_plot(
                *divmod(place, columns),
                BatchAxis("bottom"),
                count_axis("left") if unit == 1.0 else time_axis("left"),
                name=model,
                x_label="Batch size" if place >= len(models) - columns else "",
                y_label=("Inputs/s" if unit == 1.0 else name) if place % columns == 0 else "",
            )
            plot.getAxis("left").setWidth(76 if place % columns == 0 else 58)
            for label, style in styles.items():
                line = [one for one in shown if one.model == model and labels[one.key] == label]
                self._line(plot, [point for one in line if (point := points[one.key])], style)
            plot.autoRange(padding=0.08)
            plot.getViewBox().setMouseEnabled(False, False)
        self.show_legend(
            [
                Entry(f"{label} ({CLOCK_TEXT[kinds[label].clock]})", style.pen(1.8), symbol="o")
                for label, style in styles.items()
            ]
        )
        self.show_heading(f"{name} against batch size", clocks_text(shown))
        return ""

    def _columns(self, models: int) -> int:
        fitting = max(1, self.width() // _LEAST_WIDTH)
        return min(fitting, models)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        if event.size().width() // _LEAST_WIDTH != event.oldSize().width() // _LEAST_WIDTH:
            self.mark_dirty()  # more or fewer plots fit beside each other

    @staticmethod
    def _line(plot: pg.PlotItem, points: list[Point], style: SeriesStyle) -> None:
        if not points:
            return
        points.sort(key=lambda point: point.batch)
        bounded = [(point, point.interval) for point in points if point.interval]
        if bounded:
            bars = pg.ErrorBarItem(
                x=np.array([point.batch for point, _ in bounded]),
                y=np.array([point.figure for point, _ in bounded]),
                bottom=np.array([point.figure - low for point, (low, _) in bounded]),
                top=np.array([high - point.figure for point, (_, high) in bounded]),
                beam=0.02,
                pen=pg.mkPen(style.color),
            )
            plot.addItem(bars)
        x, y = [point.batch for point in points], [point.figure for point in points]
        plot.plot(
            x,
            y,
            pen=style.pen(1.8),
            symbol="o",
            symbolSize=6,
            symbolPen=pg.mkPen(style.color, width=1.4),
            symbolBrush=style.solid(),
            antialias=True,
        )

    def table(self) -> Table:
        shown = [one for one in ranked(self.series) if batch(one) is not None]
        columns = [column for column, _, _ in _FIGURES.values()]
        return (
            ["model", "runtime", "clock", "batch_size", *columns],
            [
                [one.model, one.runtime, one.clock, batch(one)]
                + [number(one, column) for column in columns]
                for one in shown
            ],
        )


def _point(series: Series, column: str, unit: float) -> Point | None:
    """None for a case whose batch size or figure is not known."""
    size, figure = batch(series), number(series, column)
    if not size or not figure:
        return None
    stem = column.removesuffix("_us")
    low, high = number(series, f"{stem}_ci_low_us"), number(series, f"{stem}_ci_high_us")
    interval = (math.log10(low * unit), math.log10(high * unit)) if low and high else None
    return Point(math.log10(size), math.log10(figure * unit), interval)
