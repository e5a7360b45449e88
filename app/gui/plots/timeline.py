"""The timeline: every sample in the order it was taken, warm-up shaded, levels drawn through.

Rounds stand one after another, each series' k-th round at the same place; or by the clock, so that
what disturbed the machine is seen at one place in all cases that were measured then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QWidget

from app.gui.look.controls import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import NamesAxis, time_axis
from app.gui.plots.lanes import (
    Lane,
    LaneLayer,
    LanePlot,
    LaneReader,
    RoundTimes,
    lane_names,
    lanes_of,
    told_at,
)
from app.gui.plots.legend import Entry
from app.gui.plots.parts import NAMES, PartChoice, since_when, without_samples
from app.gui.plots.read.curves import DrawnRound, SampleReader
from app.gui.plots.read.overlays import LitPoints
from app.gui.plots.read.reading import Brush
from app.gui.plots.scrolled import RowsView
from app.gui.plots.style import SeriesStyle, clocks_text, series_entries
from app.gui.plots.trace import (
    Envelope,
    NameLayer,
    RoundLayer,
    Taken,
    Trace,
    sample_rows,
    warm_color,
)
from app.plot_data.series import Series, part_ns

PANEL_PX, _PANEL_LINES = 76, 3.4
"""The least height in which a series of its own is read, below its name."""
_MOST_WITH_LANES = 3
_AXIS_WIDTH = 78.0
_X_LABELS = {
    "rounds": "Time since the first round began (s), rounds set one after another",
    "clock": "Clock time since the first sample that is shown (s)",
}
Offsets = dict[str, list[float]]
"""By the key of a series where each of its rounds begins on the axis [s], and where the last one
ends."""


class TimelineView(RowsView):
    """Latency of each sample against the time it was taken."""

    title = "Timeline"
    hint = "Each sample in the order it was taken. The strong line is the median of a block."
    tells_apart = True

    def __init__(self, parent: QWidget | None = None) -> None:
        self._traces: dict[tuple[str, int], Trace] = {}
        self._in_rows = False
        self._envelopes: dict[tuple[str, int, str], Envelope] = {}
        self._panels: dict[str, pg.PlotItem] = {}
        self._shades: dict[str, RoundLayer] = {}
        self._lit_points: dict[str, LitPoints] = {}
        self._readers: dict[pg.PlotItem, SampleReader] = {}
        self._drawn: dict[str, list[DrawnRound]] = {}
        self._lanes: dict[str, LanePlot] = {}
        super().__init__(parent)
        self.layout_choice = Choice(
            "Layout",
            {"stacked": "One below another", "overlaid": "Overlaid"},
            "Draw each series into its own plot over the same time axis, or all into one.",
        )
        self.time_choice = Choice(
            "Time",
            {"rounds": "By round", "clock": "Clock time"},
            "Rounds one after another, each series' rounds at the same places; or when each round "
            "was measured, so that a disturbance of the machine shows in all cases of that moment.",
        )
        self.part_choice = PartChoice()
        self.lanes_box = Switch(
            "Machine", "Clock, temperature, throttling and load below the samples, as recorded."
        )
        self.add_controls(self.part_choice, self.layout_choice, self.time_choice, self.lanes_box)

    def reset(self) -> None:
        super().reset()
        self._traces, self._panels, self._shades = {}, {}, {}
        self._lit_points, self._readers, self._drawn, self._lanes = {}, {}, {}, {}

    def draw(self) -> str:
        self.part_choice.offer(self.series)
        part = self.part_choice.part
        shown = [one for one in self.series if any(len(r) for r in one.rounds) and one.has(part)]
        if shown and self._by_clock:
            shown = [one for one in shown if one.clock != "simulated"]
            if not shown:
                return "A simulated card has no clock time. Choose “By round”."
        if not shown:
            not_yet = "No raw samples yet. The timeline follows a round while it is measured."
            return without_samples(self.series, not_yet)
        stacked = self.layout_choice.value == "stacked"
        panel_px = max(PANEL_PX, round(_PANEL_LINES * self._line_px()))
        rows = self.rows_in_sight(len(shown), panel_px if stacked else 0)
        drawn = shown[rows.start : rows.stop]
        self._build(drawn, stacked)
        offsets = self._follow(drawn)
        if self.follows:
            self.plots[0].setXRange(0.0, max(own[-1] for own in offsets.values()), padding=0.01)
        self._draw_traces(drawn, offsets)
        if self.follows:
            self._fit_heights(drawn)
        styles = self.styles()
        self._let_read(drawn, offsets, styles)
        self.show_legend(
            [
                *series_entries(drawn, self.name_of, styles),
                Entry("warm-up, not counted", None, QBrush(warm_color(self.theme))),
            ]
        )
        count = sum(len(r) for one in drawn for r in one.rounds)
        several = self._by_clock and len({_host(one) for one in drawn}) > 1
        notes = [clocks_text(drawn), since_when(drawn, part), f"{count:,} samples"]
        notes += ["each host from its own first sample"] if several else []
        told = filter(None, notes)
        self.show_heading(f"{NAMES[part].removesuffix(' time')} over time", ", ".join(told))
        return ""

    def _build(self, drawn: Sequence[Series], stacked: bool) -> None:
        name = NAMES[self.part_choice.part]
        lanes = self._lane_names(drawn, stacked)
        told = [(one.key, self.name_of(one), lanes.get(one.key)) for one in drawn]
        if not self.renew(stacked, name, self.time_choice.value, told):
            return
        in_rows = self._in_rows = stacked and len(drawn) > 1
        if in_rows:
            self.body.addLabel(name, 0, 0, 2 * len(drawn), 1, color=self.theme.muted, angle=-90)
        for row, one in enumerate(drawn):
            if row and not stacked:
                self._panels[one.key] = self.plots[0]
                self._shades[one.key] = self._shades[drawn[0].key]
                self._lit_points[one.key] = self._lit_points[drawn[0].key]
                continue
            last = row == len(drawn) - 1 or not stacked
            x_label = _X_LABELS[self.time_choice.value] if last else ""
            plot = self.add_plot(
                2 * row,
                int(in_rows),
                None,
                time_axis("left"),
                x_label="" if one.key in lanes else x_label,
                y_label="" if in_rows else name,
            )
            plot.getAxis("left").setWidth(_AXIS_WIDTH)
            plot.setDownsampling(auto=True, mode="peak")
            plot.setClipToView(True)
            if row:
                plot.setXLink(self.plots[0])
            if not last or one.key in lanes:
                plot.getAxis("bottom").setStyle(showValues=False)
            self._panels[one.key] = plot
            self._shades[one.key] = self.lay(RoundLayer(plot, self.theme, named_row=in_rows))
            self._lit_points[one.key] = self.lay(LitPoints(plot, self.theme))
            if in_rows:
                self.lay(NameLayer(plot, self.name_of(one), self.theme))
            if one.key in lanes:
                self._add_lanes(one.key, 2 * row + 1, lanes[one.key], plot, x_label)
        self.plots[0].getViewBox().sigXRangeChanged.connect(self._zoomed)

    def _lane_names(self, drawn: Sequence[Series], stacked: bool) -> dict[str, tuple[str, ...]]:
        """What was recorded of each case; nothing where there is no room for it."""
        few = len(drawn) <= (_MOST_WITH_LANES if stacked else 1)
        if not few or not self.lanes_box.isChecked():
            return {}
        found = {one.key: lane_names(one.watched) for one in drawn}
        return {key: names for key, names in found.items() if names}

    def _add_lanes(
        self, key: str, row: int, names: Sequence[str], above: pg.PlotItem, x_label: str
    ) -> None:
        rows = NamesAxis()
        rows.set_names(names)
        plot = self.add_plot(row, int(self._in_rows), None, rows, x_label=x_label)
        rows.setTextPen(self.theme.text)
        width = max(rows.needed_px, _AXIS_WIDTH)
        for axis in (rows, above.getAxis("left")):
            axis.setWidth(width)
        layer = self.lay(LaneLayer(plot, self.theme))
        self._lanes[key] = LanePlot(plot, layer, len(names), above)

    def _let_read(
        self, drawn: Sequence[Series], offsets: Offsets, styles: dict[str, SeriesStyle]
    ) -> None:
        lanes = {one.key: self._lanes_of(one, offsets[one.key]) for one in drawn}
        self._drawn = {
            one.key: [
                DrawnRound(
                    one.key,
                    one.label,
                    styles[one.key].color,
                    number,
                    records,
                    offsets[one.key][number],
                    self._taken(one),
                    partial(told_at, lanes[one.key]),
                )
                for number, records in enumerate(one.rounds)
            ]
            for one in drawn
        }
        self._show_lanes(lanes)
        for plot in dict.fromkeys(self._panels.values()):
            there = [r for key, rs in self._drawn.items() if self._panels[key] is plot for r in rs]
            self._readers[plot] = SampleReader(there, self.part_choice.part)
            self.let_read(plot, self._readers[plot])
        for key, lane_plot in self._lanes.items():  # a range that is marked there is of the samples
            self._readers[lane_plot.plot] = self._readers[self._panels[key]]

    def _show_lanes(self, lanes: Mapping[str, tuple[Lane, ...]]) -> None:
        for key, lane_plot in self._lanes.items():
            lane_plot.layer.set_lanes(lanes[key])
            self.let_read(lane_plot.plot, LaneReader(lanes[key], key))

    def _lanes_of(self, series: Series, offsets: Sequence[float]) -> tuple[Lane, ...]:
        """What was recorded beside the rounds, where they lie on the axis."""
        times = []
        for number in range(len(series.rounds)):
            envelope = self._traces[series.key, number].envelope
            begin_s = offsets[number]
            times.append(RoundTimes(begin_s, begin_s + envelope.end_s, envelope.first_ns))
        return lanes_of(series.watched, times)

    def draw_lit(self) -> None:
        points: dict[LitPoints, list[tuple[np.ndarray, np.ndarray, QColor]]] = {
            layer: [] for layer in self._lit_points.values()
        }
        for one in self.series if self.lit else ():
            drawn = self._drawn.get(one.key, [])
            if self.lit and drawn:
                lit, spent = self.lit.of(one).rounds, self.lit.spent(one, self.part_choice.part)
                ends = np.cumsum([len(found) for found in lit])[:-1]
                for there, which, log_s in zip(
                    drawn, lit, np.split(spent.log_s, ends), strict=True
                ):
                    layer = self._lit_points[one.key]
                    points[layer].append((there.places_s(which), log_s, there.color))
        for layer, found in points.items():
            layer.set_points(found)

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        spans = self._readers[plot].spans(low, high)
        return Brush(self.part_choice.part, spans=spans) if spans else None

    def _zoomed(self, *_: object) -> None:
        """Another part is looked at: finer or coarser data for it at the next refresh."""
        self.mark_dirty()

    def _follow(self, drawn: Sequence[Series]) -> Offsets:
        """Read on in every round; where each begins."""
        styles = self.styles()
        for one in drawn:
            for number, records in enumerate(one.rounds):
                trace = self._traces.get((one.key, number))
                if trace is None:
                    trace = self._trace(one, number, styles[one.key])
                    self._traces[one.key, number] = trace
                trace.set_style(styles[one.key])
                trace.follow(records)
        return self._clock_times(drawn) if self._by_clock else self._round_times(drawn)

    @property
    def _by_clock(self) -> bool:
        return self.time_choice.value == "clock"

    def _envelopes_of(self, series: Series) -> list[Envelope]:
        return [self._traces[series.key, n].envelope for n in range(len(series.rounds))]

    def _round_times(self, drawn: Sequence[Series]) -> Offsets:
        """The k-th rounds of all series begin together, once the longest of those before ended."""
        lengths: list[float] = []
        for one in drawn:
            for number, envelope in enumerate(self._envelopes_of(one)):
                lengths += [0.0] * (number + 1 - len(lengths))
                lengths[number] = max(lengths[number], envelope.end_s)
        return {one.key: [0.0, *np.cumsum(lengths).tolist()] for one in drawn}

    def _clock_times(self, drawn: Sequence[Series]) -> Offsets:
        """By the samples' own clock, which all processes of a host share; from a host's first."""
        first_ns: dict[str, int] = {}
        for one in drawn:
            for envelope in self._envelopes_of(one):
                if envelope.end_s:
                    known = first_ns.get(_host(one), envelope.first_ns)
                    first_ns[_host(one)] = min(known, envelope.first_ns)
        found: Offsets = {}
        for one in drawn:
            envelopes, zero_ns = self._envelopes_of(one), first_ns.get(_host(one), 0)
            begins = [(e.first_ns - zero_ns) * 1e-9 if e.end_s else 0.0 for e in envelopes]
            ends = [begin + e.end_s for begin, e in zip(begins, envelopes, strict=True)]
            found[one.key] = [*begins, max(ends, default=0.0)]
        return found

    def _trace(self, series: Series, number: int, style: SeriesStyle) -> Trace:
        """A trace over what was read of its round before: rows come into sight and go."""
        taken = self._taken(series)
        key = (series.key, number, self.part_choice.part)
        envelope = self._envelopes.setdefault(key, Envelope(taken))
        return Trace(self._panels[series.key], style, self.theme, taken, envelope)

    def _draw_traces(self, drawn: Sequence[Series], offsets: Offsets) -> None:
        low, high = self.plots[0].viewRange()[0]
        warm: dict[str, list[tuple[float, float]]] = {}
        for one in drawn:
            for number, records in enumerate(one.rounds):
                trace, begin = self._traces[one.key, number], offsets[one.key][number]
                trace.draw(records, begin, (low, high))
                end = begin + trace.envelope.warmup_end_s
                warm.setdefault(one.key, []).append((begin, end))
        for key, shade in self._shades.items():
            shade.set_rounds(offsets[key], warm.get(key, []))

    def _fit_heights(self, drawn: Sequence[Series]) -> None:
        for plot in dict.fromkeys(self._panels.values()):
            least, greatest = math.inf, 0.0
            for one in drawn:
                if self._panels[one.key] is plot:
                    low, high = self._extent(one)
                    least, greatest = min(least, low), max(greatest, high)
            low, high = math.log10(max(least, 1e-9)), math.log10(max(greatest, 1e-9))
            margin = 0.08 * (high - low) + 0.02
            plot.setYRange(low - margin, high + 2.5 * margin, padding=0)

    def _extent(self, series: Series) -> tuple[float, float]:
        """Least and greatest latency [s], the last incomplete block of each round included."""
        lows, highs = [], []
        for number, records in enumerate(series.rounds):
            envelope = self._traces[series.key, number].envelope
            rest = records[envelope.samples :]
            if len(envelope.least_s):
                lows.append(envelope.least_s.min())
                highs.append(envelope.greatest_s.max())
            if len(rest):
                latency = self._taken(series)(rest)
                lows.append(latency.min() * 1e-9)
                highs.append(latency.max() * 1e-9)
        return min(lows), max(highs)

    def _taken(self, series: Series) -> Taken:
        """Tells of records what is drawn of them."""
        due = series.case.scenario.is_open_loop
        return partial(part_ns, part=self.part_choice.part, from_schedule=due)

    def table(self) -> Table:
        part = self.part_choice.part
        told = [(one, self._taken(one)) for one in self.series if one.has(part)]
        header = ["series", "clock", "round", "started_ns", f"{part}_us", "phase"]
        return header, sample_rows(told)


def _host(series: Series) -> str:
    return str(series.row.get("host") or series.case.host)
