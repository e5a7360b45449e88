"""Box plots: percentiles of each series on one row.

p50, p99 and p99.9 are the row's figures; what no row has, p1 and the quarters, is of all samples
pooled, from the bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.formatting.text import interval, time_text
from app.gui.look.csv_file import Table
from app.gui.plots.arrangement import behind
from app.gui.plots.case_spots import case_spot
from app.gui.plots.figure_view import FigureView
from app.gui.plots.marks import Percentile, bin_quantile_s, percentiles
from app.gui.plots.parts import without_samples
from app.gui.plots.read.reading import Brush, Spot, SpotReader
from app.gui.plots.style import SeriesStyle, clocks_text, row_text
from app.plot_data.series import Series
from app.present.figure import Axis, Figure, Mark
from app.present.figure import Series as Marks
from app.stats.quantiles import needed_samples

_POOLED_QUANTILES = {"p1": 0.01, "p25": 0.25, "p75": 0.75}
_NAMES = ("p1", "p25", "p50", "p75", "p99", "p99.9")


@dataclass(frozen=True, slots=True)
class Box:
    """log10 seconds by percentile name; those the samples can't bound are missing."""

    places: dict[str, float]
    style: SeriesStyle


class BoxesView(FigureView):
    """A row per series: the middle half as a box, whiskers to p1 and p99, a dot at p99.9."""

    title = "Box plots"
    hint = "The middle half of the samples as a box, p1 to p99 as whiskers, p99.9 as a dot."
    tells_apart = True

    def draw(self) -> str:
        series = [case_series for case_series in self.series if case_series.counts.any()]
        if not series:
            not_yet = "No samples yet. The boxes appear with the first measured block."
            return without_samples(self.series, not_yet)
        styles = self.styles()
        grey = behind(series, self.arrangement, self.theme, each=True)
        boxes, names = list[Box](), list[str]()
        for case_series in series:
            boxes.append(Box(_places(case_series), styles[case_series.key]))
            names.append(row_text(case_series, self.name_of(case_series), series))
            counterparts = [item for item in grey if item.key == case_series.key]
            boxes += [Box(_places(item.series), item.style) for item in counterparts]
            names += [item.series.label for item in counterparts]
        figure = Figure(
            "",
            Axis("Latency", "us", "log"),
            Axis(names=tuple(names)),
            tuple(part for row, box in enumerate(boxes) for part in _parts(row, box)),
        )
        (plot,) = self.show_figures([figure], {str(k): box.style for k, box in enumerate(boxes)})
        spots = [
            s
            for row, case_series in enumerate(series)
            for s in _spots(case_series, row, boxes[row])
        ]
        self.let_read(plot, SpotReader(spots, by_row=True))
        self.show_legend([])
        self.show_heading(
            "Spread of the latencies",
            "line in the box p50, right whisker p99, dot p99.9: as in the table; box p25 to p75, "
            f"left whisker p1: all samples pooled; {clocks_text(series)}",
        )
        return ""

    def table(self) -> Table:
        rows: list[list[object]] = []
        for case_series in self.series:
            places = _places(case_series)
            values = [10.0 ** places[name] * 1e6 if name in places else None for name in _NAMES]
            rows.append([case_series.label, case_series.clock, *values])
        prefixes = dict.fromkeys(_POOLED_QUANTILES, "pooled_")
        names = [f"{prefixes.get(name, '')}{name.replace('.', '')}_us" for name in _NAMES]
        return ["series", "clock", *names], rows


def _spots(series: Series, row: int, box: Box) -> list[Spot]:
    """A mark for each percentile; a double click shows the iterations from there on."""
    spots, color = [], box.style.color
    by_name = {percentile.name: percentile for percentile in percentiles(series)}
    for name, place in box.places.items():
        seconds = 10.0**place
        row_percentile = by_name.get(name)
        label = f"pooled {name}" if row_percentile is None else row_percentile.label
        tilde = "~" if row_percentile is None or row_percentile.provisional else ""
        lines = (f"{label} {tilde}{time_text(seconds)}", _interval(row_percentile))
        opens = Brush("latency", low_s=seconds, keys=(series.key,))
        spot = case_spot(series, place, row, lines, color, (0.0, 0.5))
        spots.append(replace(spot, opens=opens))
    return spots


def _interval(percentile: Percentile | None) -> str:
    if percentile is None or percentile.interval_s is None:
        return ""
    low_us, high_us = percentile.interval_s.low * 1e6, percentile.interval_s.high * 1e6
    return f"95 %: {interval(low_us, high_us)}"


def _places(series: Series) -> dict[str, float]:
    total = int(series.counts.sum())
    seconds = {percentile.name: percentile.seconds for percentile in percentiles(series)}
    for name, quantile in _POOLED_QUANTILES.items():
        if total >= needed_samples(quantile):
            seconds[name] = bin_quantile_s(series.counts, quantile)
    return {name: math.log10(seconds[name]) for name in _NAMES if name in seconds}


def _parts(row: int, box: Box) -> Iterator[Marks]:
    """The box as two bars that meet at p50, its whiskers the interval of both, and p99.9."""
    us = {name: 10.0**place * 1e6 for name, place in box.places.items()}
    if {"p25", "p50", "p75"} <= us.keys():
        ends = us.get("p1", us["p25"]), us.get("p99", us["p75"])
        lower = Mark(us["p50"], row, "", *ends, start=us["p25"])
        yield Marks(str(row), (lower, Mark(us["p75"], row, start=us["p50"])), "bars")
    if "p99.9" in us:
        yield Marks(str(row), (Mark(us["p99.9"], row),))
