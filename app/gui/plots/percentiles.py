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
        shown = [one for one in self.series if one.counts.any()]
        if not shown:
            return without_samples(
                self.series, "No samples yet. The curves appear with the first measured block."
            )
        kept = self.kept_range()
        grey = behind(shown, self.arrangement, self.theme)
        styles = self.styles() | {one.series.key: one.style for one in grey}
        drawn = [*(one.series for one in grey), *shown]
        if self.renew([(one.key, _known(one), styles[one.key]) for one in drawn]):
            self._build(drawn, styles)
        furthest = 2.0
        ends: list[float] = []
        curves, own = list[DrawnCurve](), {one.key for one in shown}
        for one in drawn:
            nines, log_s = percentile_curve(one.counts)
            self._curves[one.key].setData(nines, log_s)
            color, known = styles[one.key].color, _known(one)
            if one.key in own:
                name = self.name_of(one)
                curves.append(DrawnCurve(one.key, name, color, nines, log_s, known))
            furthest = max(furthest, float(nines[-1]))
            ends += [float(log_s[0]), float(log_s[-1])]
        self.let_read(self.plots[0], PercentileReader(curves))
        self._colors = {one.key: one.color for one in curves}
        if kept is None:
            margin = 0.04 * (max(ends) - min(ends)) + 0.01
            self.plots[0].setXRange(0.0, furthest + 0.1, padding=0)
            self.plots[0].setYRange(min(ends) - margin, max(ends) + margin, padding=0)
        else:
            self.plots[0].setRange(xRange=kept[0], yRange=kept[1], padding=0)
        entries = [*series_entries(shown, self.name_of, styles), *behind_entries(grey)]
        if any(map(_known, shown)):
            muted = pg.mkPen(QColor(self.theme.muted))
            entries.append(Entry("as in the table, with 95 % interval", muted, symbol="o"))
        self.show_legend(entries)
        self.show_heading(
            "Latency by percentile",
            f"{', '.join(filter(None, (clocks_text(shown), since_when(shown, 'latency'))))}; "
            "dots: as in the table, of a typical round; curves: all samples pooled, ±1.2 %",
        )
        return ""

    def _build(self, shown: Sequence[Series], styles: dict[str, SeriesStyle]) -> None:
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
        for one in shown:
            style = styles[one.key]
            self._curves[one.key] = plot.plot(pen=style.line_pen(1.8), antialias=True)
            self._points(plot, one, style)

    def draw_lit(self) -> None:
        if not self.plots:
            return
        self._band.set_band(self.lit.brush.log_ends("latency") if self.lit else None)
        self._band.set_rugs(lit_places(self.lit, self.series, "latency", self._colors))

    def _points(self, plot: pg.PlotItem, series: Series, style: SeriesStyle) -> None:
        known = _known(series)
        if not known:
            return
        x = np.array([place for place, _, _, _ in known])
        y = np.array([math.log10(seconds) for _, _, seconds, _ in known])
        pen = pg.mkPen(style.color, width=1.4)
        bounds = [(place, interval) for place, _, _, interval in known if interval]
        if bounds:
            at = np.array([place for place, _ in bounds])
            low, high = np.log10([(one.low, one.high) for _, one in bounds]).T
            lay_intervals(self.lay, plot, at, low, high, pen)
        dots = pg.ScatterPlotItem(x, y, symbol="o", size=7, pen=pen, brush=style.solid())
        plot.addItem(dots)

    def table(self) -> Table:
        rows: list[list[object]] = []
        for one in self.series:
            for p in percentiles(one):
                low, high = (p.interval_s.low, p.interval_s.high) if p.interval_s else (None, None)
                rows.append(
                    [one.label, one.clock, p.quantile * 100.0, p.seconds * 1e6]
                    + [None if v is None else v * 1e6 for v in (low, high)]
                    + ["pooled bins" if p.provisional else "row"]
                )
        columns = ["latency_us", "ci_low_us", "ci_high_us", "from"]
        return ["series", "clock", "percentile", *columns], rows


def _known(series: Series) -> tuple[tuple[float, str, float, Interval | None], ...]:
    """The percentiles that came from raw samples, where they lie on the axis of nines."""
    found = (p for p in percentiles(series) if not p.provisional)
    return tuple((nines_of(p.quantile), p.name, p.seconds, p.interval_s) for p in found)


def percentile_curve(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nines, log10 seconds): one point a bin, up to the last quantile the samples bound."""
    total = int(counts.sum())
    occupied = np.nonzero(counts)[0]
    share = np.cumsum(counts[occupied]) / total
    supported = [k for k, q in enumerate(share) if q < 1.0 and needed_samples(float(q)) <= total]
    last = supported[-1] + 1 if supported else 0
    quantiles = np.concatenate([[0.0], share[:last]])
    middles = _MIDDLES[occupied[: last + 1]]
    return -np.log10(1.0 - quantiles), middles
