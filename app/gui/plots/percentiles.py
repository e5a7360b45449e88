"""The percentile plot: latency against the percentile, whose axis gives each nine its room."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor

from app.gui.look.csv_file import Table
from app.gui.plots.arrangement import behind, behind_entries
from app.gui.plots.axes import NinesAxis, nines_of, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import lay_intervals, percentiles
from app.gui.plots.parts import since_when, without_samples
from app.gui.plots.read.curves import DrawnCurve, PercentileReader
from app.gui.plots.read.lit import lit_places
from app.gui.plots.read.overlays import BandLayer
from app.gui.plots.style import SeriesStyle, clocks_text, series_entries
from app.plot_data.series import Series
from app.stats.quantiles import EDGES_S, Interval, needed_samples

_MIDDLES = 0.5 * (np.log10(EDGES_S[:-1]) + np.log10(EDGES_S[1:]))


class PercentileView(PlotView):
    """A curve per series of all its samples pooled, and the row's percentiles with intervals."""

    title = "Percentiles"
    hint = "The latency that a share of the samples stayed below: 99 % is p99."
    tells_apart = True
    reads_at_left = True

    def reset(self) -> None:
        super().reset()
        self._curves: dict[str, pg.PlotDataItem] = {}
        self._colors: dict[str, QColor] = {}

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
        if view_range is None:
            margin = 0.04 * (max(ends) - min(ends)) + 0.01
            self.plots[0].setXRange(0.0, furthest + 0.1, padding=0)
            self.plots[0].setYRange(min(ends) - margin, max(ends) + margin, padding=0)
        else:
            self.plots[0].setRange(xRange=view_range[0], yRange=view_range[1], padding=0)
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

    def draw_lit(self) -> None:
        if not self.plots:
            return
        self._band.set_band(self.lit.brush.log_ends("latency") if self.lit else None)
        self._band.set_rugs(lit_places(self.lit, self.series, "latency", self._colors))

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
            lay_intervals(self.lay, plot, positions, low, high, pen)
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
