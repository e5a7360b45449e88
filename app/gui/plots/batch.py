"""Throughput and latency against the batch size: one small plot per model, all axes logarithmic."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT
from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.axes import BatchAxis, count_axis, time_axis
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.legend import Entry
from app.gui.plots.model_grid import ModelGrid, Point, interval_of
from app.gui.plots.style import clocks_text, hollow_entry, series_styles
from app.insights.quality import standing
from app.plot_data.series import Series, batch, interval_columns, number, ranked, variants

_FIGURES = {
    "throughput": ("throughput_per_s", "Throughput", 1.0),
    "p50": ("latency_p50_us", "Latency p50", 1e-6),
    "p99": ("latency_p99_us", "Latency p99", 1e-6),
}


class BatchView(ModelGrid):
    """A grid of models; in each, one line per runtime over the batch sizes measured."""

    title = "Batch size"
    hint = "How throughput and latency change with the number of inputs per inference."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {key: name for key, (_, name, _) in _FIGURES.items()},
            "Inputs per second, or the latency of a whole batch, each with its 95 % interval.",
        )
        self.add_controls(self.figure_choice)

    def draw(self) -> str:
        column, name, unit = _FIGURES[self.figure_choice.value]
        points = {one.key: _point(one, column, name, unit) for one in ranked(self.series)}
        shown = [one for one in ranked(self.series) if points[one.key] is not None]
        self.reset()
        if not shown:
            self.canvas.setMinimumHeight(0)
            return "No finished case with a batch size yet. Give several as Batch, such as 1, 2, 4."
        labels = variants(shown)
        kinds = {labels[one.key]: one for one in shown}
        look = series_styles(list(kinds.values()), self.theme)
        styles = {label: look[one.key].of_line() for label, one in kinds.items()}
        models = list(dict.fromkeys(one.model for one in shown))
        self.make_room(models)
        for place, model in enumerate(models):
            plot = self.panel(
                place,
                models,
                BatchAxis("bottom"),
                count_axis("left") if unit == 1.0 else time_axis("left"),
                "Batch size",
                "Inputs/s" if unit == 1.0 else name,
            )
            for label, style in styles.items():
                line = [one for one in shown if one.model == model and labels[one.key] == label]
                self.line(plot, [point for one in line if (point := points[one.key])], style)
            plot.autoRange(padding=0.08)
        self.show_legend(
            [
                Entry(f"{label} ({CLOCK_TEXT[kinds[label].clock]})", style.pen(1.8), symbol="o")
                for label, style in styles.items()
            ]
            + hollow_entry(shown, self.theme, dots=True)
        )
        self.show_heading(f"{name} against batch size", clocks_text(shown))
        return ""

    def table(self) -> Table:
        shown = [one for one in ranked(self.series) if batch(one) is not None]
        columns = [
            name
            for column, _, _ in _FIGURES.values()
            for name in (column, *interval_columns(column))
        ]
        return (
            ["model", "runtime", "clock", "batch_size", *columns],
            [
                [one.model, one.runtime, one.clock, batch(one)]
                + [number(one, column) for column in columns]
                for one in shown
            ],
        )


def _point(series: Series, column: str, name: str, unit: float) -> Point | None:
    """None for a case whose batch size or figure is not known."""
    size, figure = batch(series), number(series, column)
    if not size or not figure:
        return None
    interval, sound = interval_of(series, column, unit), standing(series) == "sound"
    at, height = math.log10(size), math.log10(figure * unit)
    lines = (f"batch {size}", figure_text(series, column, name))
    return Point(at, height, interval, sound, case_spot(series, at, height, lines))
