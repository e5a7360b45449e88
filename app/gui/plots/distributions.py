"""Distributions as percentiles and as box plots: as their rows have them.

Of a box p50, p99 and p99.9 are the row's figures; what no row has, p1 and the quarters, is of all
samples pooled, from the bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor

from app.analysis.plot_data.series import Series
from app.formatting.text import interval, time_text
from app.gui.look.text import Table
from app.gui.plots.axes import NinesAxis, nines_of, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import (
    CapLayer,
    Percentile,
    bin_quantile_s,
    percentiles,
)
from app.gui.plots.read.bins import since_when, without_samples
from app.gui.plots.read.curves import DrawnCurve, PercentileReader
from app.gui.plots.read.overlays import BandLayer
from app.gui.plots.read.reading import Brush, Spot, SpotReader, lit_places
from app.gui.plots.style import (
    SeriesStyle,
    behind,
    behind_entries,
    clocks_text,
    legend_text,
    row_text,
    series_entries,
)
from app.present.figure import Axis, Figure, Mark
from app.present.figure import Series as Marks
from app.stats.quantiles import EDGES_S, Interval, needed_samples

_MIDDLES = 0.5 * (np.log10(EDGES_S[:-1]) + np.log10(EDGES_S[1:]))


class PercentileView(PlotView):
    """A curve per series of all its samples pooled, and the row's percentiles with intervals; what
    is marked of the samples is a band and a rug beside them."""

    tells_apart = True
    reads_at_left = True
    _band: BandLayer
    title = "Percentiles"
    hint = "The latency that a share of the samples stayed below: 99 % is p99."

    def reset(self) -> None:
        super().reset()
        self._curves: dict[str, pg.PlotDataItem] = {}
        self._colors: dict[str, QColor] = {}

    def draw_lit(self) -> None:
        if self.plots:
            self._band.set_band(self.lit.brush.log_ends("latency") if self.lit else None)
            self._band.set_rugs(lit_places(self.lit, self.series, "latency", self._colors))

    def draw(self) -> str:
        series = [item for item in self.series if item.counts.any()]
        if not series:
            return without_samples(
                self.series, "No samples yet. The curves appear with the first measured block."
            )
        view_range = self.kept_range()
        grey = behind(series, self.arrangement, self.theme)
        styles = self.styles() | {item.series.key: item.style for item in grey}
        all_series = [*(item.series for item in grey), *series]
        if self.renew([(item.key, _known(item), styles[item.key]) for item in all_series]):
            self._build(all_series, styles)
        furthest = 2.0
        ends: list[float] = []
        curves, own_keys = list[DrawnCurve](), {item.key for item in series}
        for item in all_series:
            nines, log_s = percentile_curve(item.counts)
            self._curves[item.key].setData(nines, log_s)
            color, quotes = styles[item.key].color, _known(item)
            if item.key in own_keys:
                name = self.name_of(item)
                curves.append(DrawnCurve(item.key, name, color, nines, log_s, quotes))
            furthest = max(furthest, float(nines[-1]))
            ends += [float(log_s[0]), float(log_s[-1])]
        self.let_read(self.plots[0], PercentileReader(curves))
        self._colors = {item.key: item.color for item in curves}
        margin = 0.04 * (max(ends) - min(ends)) + 0.01
        heights = (min(ends) - margin, max(ends) + margin)
        x_range, y_range = view_range or ((0.0, furthest + 0.1), heights)
        self.plots[0].setRange(xRange=x_range, yRange=y_range, padding=0)
        entries = [*series_entries(series, self.name_of, styles), *behind_entries(grey)]
        if any(map(_known, series)):
            muted_pen = pg.mkPen(QColor(self.theme.muted))
            entries.append(Entry("as in the table, with 95 % interval", muted_pen, symbol="o"))
        self.show_legend(entries)
        self.show_heading(
            "Latency by percentile",
            f"{', '.join(filter(None, (clocks_text(series), since_when(series, 'latency'))))}; "
            "dots: as in the table, of a typical round; curves: all samples pooled, ±1.2 %",
        )
        return ""

    def _build(self, series: Sequence[Series], styles: dict[str, SeriesStyle]) -> None:
        plot = self.add_plot(
            0,
            0,
            NinesAxis("bottom"),
            time_axis("left"),
            x_label="Percentile (each nine as wide as the last)",
            y_label="Latency",
        )
        plot.getAxis("left").setWidth(84)
        self._band = self.lay(BandLayer(plot, self.theme, upright=False))
        for case_series in series:
            style = styles[case_series.key]
            self._curves[case_series.key] = plot.plot(pen=style.line_pen(1.8), antialias=True)
            self._points(plot, case_series, style)

    def _points(self, plot: pg.PlotItem, series: Series, style: SeriesStyle) -> None:
        quotes = _known(series)
        if not quotes:
            return
        x = np.array([place for place, _, _, _ in quotes])
        y = np.array([math.log10(seconds) for _, _, seconds, _ in quotes])
        pen = pg.mkPen(style.color, width=1.4)
        bounds = [(place, interval) for place, _, _, interval in quotes if interval]
        if bounds:
            positions = np.array([place for place, _ in bounds])
            low, high = np.log10([(limits.low, limits.high) for _, limits in bounds]).T
            middle, half = (low + high) / 2.0, (high - low) / 2.0
            # The lines are data, so that the plot's range holds them.
            bars = pg.ErrorBarItem(x=positions, y=middle, bottom=half, top=half, beam=0.0, pen=pen)
            plot.addItem(bars)
            self.lay(CapLayer(plot, positions, low, high, pen))
        dots = pg.ScatterPlotItem(x, y, symbol="o", size=7, pen=pen, brush=style.solid())
        plot.addItem(dots)

    def table(self) -> Table:
        rows: list[list[object]] = []
        for case_series in self.series:
            for p in percentiles(case_series):
                low, high = (p.interval_s.low, p.interval_s.high) if p.interval_s else (None, None)
                rows.append(
                    [case_series.label, case_series.clock, p.quantile * 100.0, p.seconds * 1e6]
                    + [None if v is None else v * 1e6 for v in (low, high)]
                    + ["pooled bins" if p.provisional else "row"]
                )
        columns = ["latency_us", "ci_low_us", "ci_high_us", "from"]
        return ["series", "clock", "percentile", *columns], rows


def _known(series: Series) -> tuple[tuple[float, str, float, Interval | None], ...]:
    """The percentiles that came from raw samples, where they lie on the axis of nines."""
    quotes = (p for p in percentiles(series) if not p.provisional)
    return tuple((nines_of(p.quantile), p.name, p.seconds, p.interval_s) for p in quotes)


def percentile_curve(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nines, log10 seconds): one point a bin, up to the last quantile the samples bound."""
    total = int(counts.sum())
    indices = np.nonzero(counts)[0]
    share = np.cumsum(counts[indices]) / total
    supported_indices = [
        k for k, q in enumerate(share) if q < 1.0 and needed_samples(float(q)) <= total
    ]
    last = supported_indices[-1] + 1 if supported_indices else 0
    quantiles = np.concatenate([[0.0], share[:last]])
    middles = _MIDDLES[indices[: last + 1]]
    return -np.log10(1.0 - quantiles), middles


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
        keys, title = (series.key,), legend_text(series)
        opens = Brush("latency", low_s=seconds, keys=keys)
        texts = tuple(filter(None, lines))
        spots.append(Spot(place, row, title, texts, keys, color, (0.0, 0.5), opens))
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
