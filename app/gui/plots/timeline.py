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

from app.analysis.plot_data.series import Series, part_ns
from app.formatting.text import counted
from app.gui.look.controls import Choice, Switch
from app.gui.look.text import Table
from app.gui.plots.axes import NamesAxis, time_axis
from app.gui.plots.legend import Entry
from app.gui.plots.read.bins import NAMES, PartChoice, since_when, without_samples
from app.gui.plots.read.curves import DrawnRound, SampleReader
from app.gui.plots.read.overlays import LitPoints
from app.gui.plots.read.reading import Brush
from app.gui.plots.scrolled import RowsView
from app.gui.plots.style import SeriesStyle, clocks_text, series_entries
from app.gui.plots.trace import (
    Envelope,
    Lane,
    LaneLayer,
    LanePlot,
    LaneReader,
    NameLayer,
    RoundLayer,
    RoundTimes,
    Taken,
    Trace,
    lane_names,
    lanes_of,
    sample_rows,
    told_at,
    warm_color,
)

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
        series = [s for s in self.series if any(len(r) for r in s.rounds) and s.has(part)]
        if series and self._by_clock:
            series = [case_series for case_series in series if case_series.clock != "simulated"]
            if not series:
                return "A simulated card has no clock time. Choose “By round”."
        if not series:
            not_yet = "No raw samples yet. The timeline follows a round while it is measured."
            return without_samples(self.series, not_yet)
        is_stacked = self.layout_choice.value == "stacked"
        panel_px = max(PANEL_PX, round(_PANEL_LINES * self._line_px()))
        rows = self.rows_in_sight(len(series), panel_px if is_stacked else 0)
        visible_series = series[rows.start : rows.stop]
        self._build(visible_series, is_stacked)
        offsets = self._follow(visible_series)
        if self.follows:
            self.plots[0].setXRange(
                0.0, max(offset[-1] for offset in offsets.values()), padding=0.01
            )
        self._draw_traces(visible_series, offsets)
        if self.follows:
            self._fit_heights(visible_series)
        styles = self.styles()
        self._let_read(visible_series, offsets, styles)
        self.show_legend(
            [
                *series_entries(visible_series, self.name_of, styles),
                Entry("warm-up, not counted", None, QBrush(warm_color(self.theme))),
            ]
        )
        count = sum(len(r) for case_series in visible_series for r in case_series.rounds)
        several = self._by_clock and len({_host(case_series) for case_series in visible_series}) > 1
        notes = [
            clocks_text(visible_series),
            since_when(visible_series, part),
            counted(count, "sample"),
        ]
        notes += ["each host from its own first sample"] if several else []
        texts = filter(None, notes)
        self.show_heading(f"{NAMES[part].removesuffix(' time')} over time", ", ".join(texts))
        return ""

    def _build(self, series: Sequence[Series], stacked: bool) -> None:
        name = NAMES[self.part_choice.part]
        lanes = self._lane_names(series, stacked)
        panel_names = [(s.key, self.name_of(s), lanes.get(s.key)) for s in series]
        if not self.renew(stacked, name, self.time_choice.value, panel_names):
            return
        in_rows = self._in_rows = stacked and len(series) > 1
        if in_rows:
            self.body.addLabel(name, 0, 0, 2 * len(series), 1, color=self.theme.muted, angle=-90)
        for row, case_series in enumerate(series):
            if row and not stacked:
                self._panels[case_series.key] = self.plots[0]
                self._shades[case_series.key] = self._shades[series[0].key]
                self._lit_points[case_series.key] = self._lit_points[series[0].key]
                continue
            last = row == len(series) - 1 or not stacked
            x_label = _X_LABELS[self.time_choice.value] if last else ""
            plot = self.add_plot(
                2 * row,
                int(in_rows),
                None,
                time_axis("left"),
                x_label="" if case_series.key in lanes else x_label,
                y_label="" if in_rows else name,
            )
            plot.getAxis("left").setWidth(_AXIS_WIDTH)
            plot.setDownsampling(auto=True, mode="peak")
            plot.setClipToView(True)
            if row:
                plot.setXLink(self.plots[0])
            if not last or case_series.key in lanes:
                plot.getAxis("bottom").setStyle(showValues=False)
            self._panels[case_series.key] = plot
            self._shades[case_series.key] = self.lay(
                RoundLayer(plot, self.theme, named_row=in_rows)
            )
            self._lit_points[case_series.key] = self.lay(LitPoints(plot, self.theme))
            if in_rows:
                self.lay(NameLayer(plot, self.name_of(case_series), self.theme))
            if case_series.key in lanes:
                self._add_lanes(case_series.key, 2 * row + 1, lanes[case_series.key], plot, x_label)
        self.plots[0].getViewBox().sigXRangeChanged.connect(self._on_zoom)

    def _lane_names(self, series: Sequence[Series], stacked: bool) -> dict[str, tuple[str, ...]]:
        """What was recorded of each case; nothing where there is no room for it."""
        few = len(series) <= (_MOST_WITH_LANES if stacked else 1)
        if not few or not self.lanes_box.isChecked():
            return {}
        names_by_key = {case_series.key: lane_names(case_series.watched) for case_series in series}
        return {key: names for key, names in names_by_key.items() if names}

    def _add_lanes(
        self, key: str, row: int, names: Sequence[str], plot_item: pg.PlotItem, x_label: str
    ) -> None:
        rows = NamesAxis()
        rows.set_names(names)
        plot = self.add_plot(row, int(self._in_rows), None, rows, x_label=x_label)
        rows.setTextPen(self.theme.text)
        width = max(rows.needed_px, _AXIS_WIDTH)
        for axis in (rows, plot_item.getAxis("left")):
            axis.setWidth(width)
        layer = self.lay(LaneLayer(plot, self.theme))
        self._lanes[key] = LanePlot(plot, layer, len(names), plot_item)

    def _let_read(
        self, series: Sequence[Series], offsets: Offsets, styles: dict[str, SeriesStyle]
    ) -> None:
        lanes = {s.key: self._lanes_of(s, offsets[s.key]) for s in series}
        self._drawn = {
            case_series.key: [
                DrawnRound(
                    case_series.key,
                    case_series.label,
                    styles[case_series.key].color,
                    number,
                    records,
                    offsets[case_series.key][number],
                    self._bind_durations(case_series),
                    partial(told_at, lanes[case_series.key]),
                )
                for number, records in enumerate(case_series.rounds)
            ]
            for case_series in series
        }
        self._show_lanes(lanes)
        for plot in dict.fromkeys(self._panels.values()):
            plot_rounds = [
                r for key, rs in self._drawn.items() if self._panels[key] is plot for r in rs
            ]
            self._readers[plot] = SampleReader(plot_rounds, self.part_choice.part)
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
        for case_series in self.series if self.lit else ():
            drawn_rounds = self._drawn.get(case_series.key, [])
            if self.lit and drawn_rounds:
                round_indices = self.lit.of(case_series).rounds
                durations = self.lit.spent(case_series, self.part_choice.part)
                ends = np.cumsum([len(point) for point in round_indices])[:-1]
                for drawn_round, indices, log_s in zip(
                    drawn_rounds, round_indices, np.split(durations.log_s, ends), strict=True
                ):
                    layer = self._lit_points[case_series.key]
                    points[layer].append((drawn_round.places_s(indices), log_s, drawn_round.color))
        for layer, point in points.items():
            layer.set_points(point)

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        spans = self._readers[plot].spans(low, high)
        return Brush(self.part_choice.part, spans=spans) if spans else None

    def _on_zoom(self, *_: object) -> None:
        """Another part is looked at: finer or coarser data for it at the next refresh."""
        self.mark_dirty()

    def _follow(self, series: Sequence[Series]) -> Offsets:
        """Read on in every round; where each begins."""
        styles = self.styles()
        for case_series in series:
            for number, records in enumerate(case_series.rounds):
                trace = self._traces.get((case_series.key, number))
                if trace is None:
                    trace = self._trace(case_series, number, styles[case_series.key])
                    self._traces[case_series.key, number] = trace
                trace.set_style(styles[case_series.key])
                trace.follow(records)
        return self._clock_times(series) if self._by_clock else self._round_times(series)

    @property
    def _by_clock(self) -> bool:
        return self.time_choice.value == "clock"

    def _envelopes_of(self, series: Series) -> list[Envelope]:
        return [self._traces[series.key, n].envelope for n in range(len(series.rounds))]

    def _round_times(self, series: Sequence[Series]) -> Offsets:
        """The k-th rounds of all series begin together, once the longest of those before ended."""
        lengths: list[float] = []
        for case_series in series:
            for number, envelope in enumerate(self._envelopes_of(case_series)):
                lengths += [0.0] * (number + 1 - len(lengths))
                lengths[number] = max(lengths[number], envelope.end_s)
        return {case_series.key: [0.0, *np.cumsum(lengths).tolist()] for case_series in series}

    def _clock_times(self, series: Sequence[Series]) -> Offsets:
        """By the samples' own clock, which all processes of a host share; from a host's first."""
        first_ns: dict[str, int] = {}
        for case_series in series:
            for envelope in self._envelopes_of(case_series):
                if envelope.end_s:
                    host_first_ns = first_ns.get(_host(case_series), envelope.first_ns)
                    first_ns[_host(case_series)] = min(host_first_ns, envelope.first_ns)
        offsets: Offsets = {}
        for case_series in series:
            envelopes = self._envelopes_of(case_series)
            zero_ns = first_ns.get(_host(case_series), 0)
            begins = [(e.first_ns - zero_ns) * 1e-9 if e.end_s else 0.0 for e in envelopes]
            ends = [begin + e.end_s for begin, e in zip(begins, envelopes, strict=True)]
            offsets[case_series.key] = [*begins, max(ends, default=0.0)]
        return offsets

    def _trace(self, series: Series, number: int, style: SeriesStyle) -> Trace:
        """A trace over what was read of its round before: rows come into sight and go."""
        durations_of = self._bind_durations(series)
        key = (series.key, number, self.part_choice.part)
        envelope = self._envelopes.setdefault(key, Envelope(durations_of))
        return Trace(self._panels[series.key], style, self.theme, durations_of, envelope)

    def _draw_traces(self, series: Sequence[Series], offsets: Offsets) -> None:
        low, high = self.plots[0].viewRange()[0]
        warm: dict[str, list[tuple[float, float]]] = {}
        for case_series in series:
            for number, records in enumerate(case_series.rounds):
                trace = self._traces[case_series.key, number]
                begin = offsets[case_series.key][number]
                trace.draw(records, begin, (low, high))
                end = begin + trace.envelope.warmup_end_s
                warm.setdefault(case_series.key, []).append((begin, end))
        for key, shade in self._shades.items():
            shade.set_rounds(offsets[key], warm.get(key, []))

    def _fit_heights(self, series: Sequence[Series]) -> None:
        for plot in dict.fromkeys(self._panels.values()):
            least, greatest = math.inf, 0.0
            for case_series in series:
                if self._panels[case_series.key] is plot:
                    low, high = self._extent(case_series)
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
                latency = self._bind_durations(series)(rest)
                lows.append(latency.min() * 1e-9)
                highs.append(latency.max() * 1e-9)
        return min(lows), max(highs)

    def _bind_durations(self, series: Series) -> Taken:
        """Tells of records what is drawn of them."""
        due = series.case.scenario.is_open_loop
        return partial(part_ns, part=self.part_choice.part, from_schedule=due)

    def table(self) -> Table:
        part = self.part_choice.part
        pairs = [(s, self._bind_durations(s)) for s in self.series if s.has(part)]
        header = ["series", "clock", "round", "started_ns", f"{part}_us", "phase"]
        return header, sample_rows(pairs)


def _host(series: Series) -> str:
    return str(series.row.get("host") or series.case.host)
