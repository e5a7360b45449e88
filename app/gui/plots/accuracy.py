"""Accuracy against throughput: a point per model and runtime, coloured by the model's family."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT
from app.gui.look.controls import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.axes import PercentAxis, count_axis
from app.gui.plots.base import PlotView
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.legend import Entry
from app.gui.plots.marks import NameLayer
from app.gui.plots.read.reading import Spot, SpotReader
from app.gui.plots.style import SeriesStyle, clocks_text
from app.insights.quality import quality_of
from app.plot_data.series import Series, batches, number, of_batch, ranked, variants

_SYMBOLS = ("o", "s", "t", "d", "star", "h", "t1", "p", "t2", "t3")


@dataclass(frozen=True, slots=True)
class Point:
    """A case whose rate [inputs/s] and accuracy [%] are both known."""

    series: Series
    log_rate: float
    percent: float


class AccuracyView(PlotView):
    """Better lies to the upper right: more inputs a second, more of them right."""

    title = "Accuracy"
    hint = "The share of inputs a model gets right against how many it takes a second."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.runtime_choice = Choice(
            "Runtime", {"": "All runtimes"}, "Show the models on one runtime only."
        )
        self.add_controls(self.runtime_choice, self.batch_choice)

    def offers(self) -> bool:
        return any(
            number(case_series, "accuracy_top1") is not None for case_series in self._all_series
        )

    def draw(self) -> str:
        points = {point.series.key: point for point in self._points()}
        candidates = [point.series for point in points.values()]
        self.runtime_choice.set_texts(
            {
                "": "All runtimes",
                **{case_series.runtime: case_series.runtime for case_series in candidates},
            }
        )
        runtime = self.runtime_choice.value
        runtime_series = [
            case_series
            for case_series in candidates
            if not runtime or case_series.runtime == runtime
        ]
        self.batch_choice.set_texts(batches(runtime_series))
        visible_series = of_batch(runtime_series, self.batch_choice.value)
        if not visible_series:
            return (
                "No finished case whose accuracy was measured or published yet. “Labelled data” of "
                "the sweep measures it."
            )
        view_range = self.kept_range()
        self.reset()
        plot = self.add_plot(
            0,
            0,
            count_axis("bottom"),
            PercentAxis("left"),
            x_label="Inputs per second",
            y_label="Accuracy, top 1 (%)",
        )
        names = variants(visible_series)
        colors, symbols = self._looks(visible_series, names)
        visible_points = [points[case_series.key] for case_series in visible_series]
        for case_series, point in zip(visible_series, visible_points, strict=True):
            style = SeriesStyle(
                colors[_family(case_series)],
                case_series.clock == "simulated",
                quality_of(case_series),
            )
            plot.plot(
                [point.log_rate],
                [point.percent],
                pen=None,
                symbol=symbols[names[case_series.key]],
                symbolSize=10,
                symbolPen=pg.mkPen(style.color, width=1.6),
                symbolBrush=style.solid(),
            )
        self.lay(NameLayer(plot, self._names(visible_points), self.theme))
        self.let_read(
            plot, SpotReader([_spot(p, colors[_family(p.series)]) for p in visible_points])
        )
        if view_range is None:
            plot.autoRange(padding=0.1)
        else:
            plot.setRange(xRange=view_range[0], yRange=view_range[1], padding=0)
        transparent_pen = pg.mkPen(QColor(0, 0, 0, 0))
        self.show_legend(
            [Entry(family, transparent_pen, pg.mkBrush(color)) for family, color in colors.items()]
            + [
                Entry(
                    _format_variant(visible_series, names, name),
                    None,
                    pg.mkBrush(self.theme.muted),
                    symbol,
                )
                for name, symbol in symbols.items()
            ]
        )
        batch_text = self.batch_choice.currentText().lower()
        self.show_heading(
            "Accuracy against throughput",
            ", ".join(filter(None, (batch_text, clocks_text(visible_series)))),
        )
        return ""

    def _points(self) -> list[Point]:
        points = []
        for case_series in ranked(self.series):
            rate, share = (
                number(case_series, "throughput_per_s"),
                number(case_series, "accuracy_top1"),
            )
            if rate and share is not None:
                points.append(Point(case_series, math.log10(rate), 100.0 * share))
        return points

    def _looks(
        self, series: list[Series], names: dict[str, str]
    ) -> tuple[dict[str, QColor], dict[str, str]]:
        """A colour by family and a symbol by runtime, in the order of their names."""
        palette = list(self.theme.runtimes.values())
        families = sorted({_family(case_series) for case_series in series})
        colors = {f: QColor(palette[k % len(palette)]) for k, f in enumerate(families)}
        kinds = sorted(set(names.values()))
        return colors, {name: _SYMBOLS[k % len(_SYMBOLS)] for k, name in enumerate(kinds)}

    @staticmethod
    def _names(points: list[Point]) -> list[tuple[float, float, str]]:
        """Each model is named once, at its fastest point."""
        fastest: dict[str, Point] = {}
        for point in points:
            model = point.series.model
            if model not in fastest or point.log_rate > fastest[model].log_rate:
                fastest[model] = point
        return [(point.log_rate, point.percent, model) for model, point in fastest.items()]

    def table(self) -> Table:
        columns = ["model", "family", "runtime", "clock", "batch_size"]
        columns += ["throughput_per_s", "accuracy_top1"]
        return columns, [
            [point.series.row.get(name) for name in columns] for point in self._points()
        ]


def _spot(point: Point, color: QColor) -> Spot:
    lines = (
        f"{point.percent:.2f} % right (top 1)",
        figure_text(point.series, "throughput_per_s", "inputs"),
    )
    return case_spot(point.series, point.log_rate, point.percent, lines, color)


def _family(series: Series) -> str:
    return str(series.row.get("family") or series.model)


def _format_variant(series: list[Series], names: dict[str, str], name: str) -> str:
    clock = next(case_series.clock for case_series in series if names[case_series.key] == name)
    return f"{name} ({CLOCK_TEXT[clock]})"
