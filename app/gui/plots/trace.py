"""Rounds on a timeline, raw samples or an envelope, and lanes below of what was recorded beside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.analysis.plot_data.series import Series
from app.cases.round import MEASURED
from app.cases.telemetry import Disturbance
from app.cases.telemetry import Reading as DeviceReading
from app.formatting.text import significant
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme, mixed
from app.gui.plots.read.curves import PHASES
from app.gui.plots.read.reading import Line, Place, Reading
from app.gui.plots.style import SeriesStyle
from app.run_folder.telemetry import RoundTelemetry
from app.runs.following.samples import give_back
from app.stats.option_search.ablation import round_name

_FIELD_LABELS = {
    "clock_mhz": ("clock", "MHz"),
    "temperature_c": ("temperature", "°C"),
    "power_w": ("power", "W"),
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one second of the axis to another, what held there; `value` where it is a number.

    `amiss`: something that slows runs down.
    """

    begin_s: float
    end_s: float
    text: str
    value: float | None = None
    amiss: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    stretches: tuple[Stretch, ...]

    def at(self, at_s: float) -> Stretch | None:
        """What held at this second of the axis; None where nothing is known."""
        return next((s for s in self.stretches if s.begin_s <= at_s < s.end_s), None)


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Where a round lies on the axis, and the moment of the samples' clock at which it begins."""

    begin_s: float
    end_s: float
    begin_ns: int

    def at_s(self, time_ns: int) -> float:
        return self.begin_s + (time_ns - self.begin_ns) * 1e-9


_ANYWHERE = RoundTimes(0.0, math.inf, 0)


def lanes_of(telemetry: Sequence[RoundTelemetry], times: Sequence[RoundTimes]) -> tuple[Lane, ...]:
    """The lanes of one case, of all its rounds together."""
    stretches: dict[str, list[Stretch]] = {}
    for round_telemetry, when in zip(telemetry, times, strict=False):
        for name, stretch in _read_round(round_telemetry, when):
            stretches.setdefault(name, []).append(stretch)
    order = sorted(stretches, key=lambda name: (name in ("came between", "load"), name))
    return tuple(Lane(name, tuple(stretches[name])) for name in order)


def lane_names(telemetry: Sequence[RoundTelemetry]) -> tuple[str, ...]:
    """How many lanes there will be, wherever rounds come to lie."""
    return tuple(lane.name for lane in lanes_of(telemetry, [_ANYWHERE] * len(telemetry)))


def told_at(lanes: Sequence[Lane], at_s: float) -> str:
    """All that is known of one moment: `CPU clock 2,400 MHz at the round's median, load 0.31 …`."""
    stretches = [(lane.name, lane.at(at_s)) for lane in lanes]
    return "; ".join(f"{name} {stretch.text}" for name, stretch in stretches if stretch)


def _read_round(round_telemetry: RoundTelemetry, when: RoundTimes) -> Iterator[tuple[str, Stretch]]:
    if round_telemetry.cpu_mhz is not None:
        usual = f"{round_telemetry.cpu_mhz:.4g} MHz at the round's median"
        yield "CPU clock", Stretch(when.begin_s, when.end_s, usual, round_telemetry.cpu_mhz)
    if round_telemetry.load is not None:
        text = f"{round_telemetry.load:.2f} when the round began"
        yield "load", Stretch(when.begin_s, when.end_s, text, round_telemetry.load)
    for disturbance in round_telemetry.disturbances:
        ends = when.at_s(disturbance.begun_ns), when.at_s(disturbance.ended_ns)
        yield "came between", Stretch(*ends, disturbance_text(disturbance), amiss=True)
    for device in dict.fromkeys(reading.device for reading in round_telemetry.readings):
        yield from _read_device(
            device, [r for r in round_telemetry.readings if r.device == device], when
        )


def _read_device(
    device: str, readings: Sequence[DeviceReading], when: RoundTimes
) -> Iterator[tuple[str, Stretch]]:
    """Each reading holds until the next one."""
    ends = [*(reading.time_ns for reading in readings[1:]), None]
    for reading, end_ns in zip(readings, ends, strict=True):
        begin_s = max(when.begin_s, when.at_s(reading.time_ns))
        end_s = when.end_s if end_ns is None else min(when.end_s, when.at_s(end_ns))
        if end_s <= begin_s:
            continue
        for field, (name, unit) in _FIELD_LABELS.items():
            value = getattr(reading, field)
            if value is not None:
                text = f"{value:.4g} {unit}"
                yield f"{device} {name}", Stretch(begin_s, end_s, text, value)
        if reading.throttle is not None:
            text = " ".join(word.replace("_", " ") for word in reading.throttle) or "none"
            yield f"{device} throttle", Stretch(begin_s, end_s, text, amiss=bool(reading.throttle))


def disturbance_text(disturbance: Disturbance) -> str:
    """`4 ms stolen, 2 switches, low clock`: what came between the runs of a block."""
    texts = [
        f"{significant(disturbance.steal_ms, 2)} ms stolen" if disturbance.steal_ms else "",
        _format_count(disturbance.involuntary_switches, "switch", "switches"),
        _format_count(disturbance.major_faults, "page from disk", "pages from disk"),
        "many interrupts" if disturbance.many_interrupts else "",
        "low clock" if disturbance.low_clock else "",
        "shared core" if disturbance.shared_core else "",
    ]
    return ", ".join(filter(None, texts))


def _format_count(number: int, text: str, more: str) -> str:
    return f"{number:,} {text if number == 1 else more}" if number else ""


_LANE_HEIGHT, _AXIS_HEIGHT = 20, 44
_LEAST_REACH = 0.05


class LaneLayer(Overlay):
    """A row for each lane: a number as a line between its least and its greatest, words as bars."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self._lanes: tuple[Lane, ...] = ()

    def set_lanes(self, lanes: Sequence[Lane]) -> None:
        self._lanes = tuple(lanes)
        self.update()

    def draw(self, painter: QPainter) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.5))
        for row, lane in enumerate(self._lanes):
            top, bottom = self.y_px(row - 0.4), self.y_px(row + 0.4)
            strip = QRectF(box.left(), top, box.width(), bottom - top)
            values = [s.value for s in lane.stretches if s.value is not None]
            for stretch in lane.stretches:
                left, right = self.x_px(stretch.begin_s), self.x_px(stretch.end_s)
                if right < box.left() or left > box.right():
                    continue
                place = QRectF(left, strip.top(), max(1.5, right - left), strip.height())
                self._paint_stretch(painter, stretch, place & box, values)

    def _paint_stretch(
        self, painter: QPainter, stretch: Stretch, place: QRectF, values: Sequence[float]
    ) -> None:
        if stretch.amiss:
            shade = QColor(self._theme.warning)
            shade.setAlpha(150)
            painter.fillRect(place, shade)
        if stretch.value is not None:
            middle, reach = (min(values) + max(values)) / 2.0, (max(values) - min(values)) / 2.0
            # What hardly moves is drawn so: its line does not fill the lane.
            reach = max(reach, _LEAST_REACH * abs(middle), 1e-9)
            share = 0.5 + 0.5 * (stretch.value - middle) / reach
            y = place.bottom() - 2.0 - share * (place.height() - 4.0)
            painter.setPen(QPen(QColor(self._theme.accent), 2.0))
            painter.drawLine(QPointF(place.left(), y), QPointF(place.right(), y))
        elif not stretch.amiss:
            painter.setPen(QPen(QColor(self._theme.border), 1.0))
            middle = place.center().y()
            painter.drawLine(QPointF(place.left(), middle), QPointF(place.right(), middle))
        metrics = QFontMetricsF(painter.font())
        wide = metrics.horizontalAdvance(stretch.text)
        if wide + 8.0 <= place.width():
            room = QRectF(place.left() + 4.0, place.top(), wide, place.height())
            if not stretch.amiss:
                painter.fillRect(room, QColor(self._theme.base))
            painter.setPen(QColor(self._theme.text if stretch.amiss else self._theme.muted))
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, stretch.text)


class LanePlot:
    """The plot of a case's lanes below that of its samples, as high as they need."""

    def __init__(
        self, plot: pg.PlotItem, layer: LaneLayer, rows: int, plot_item: pg.PlotItem
    ) -> None:
        self.plot, self.layer = plot, layer
        plot.setXLink(plot_item)
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(True, False)
        plot.setYRange(-0.5, rows - 0.5, padding=0)
        plot.showGrid(x=True, y=False)
        plot.setMinimumHeight(_LANE_HEIGHT * rows)
        plot.setMaximumHeight(_LANE_HEIGHT * rows + _AXIS_HEIGHT)


class LaneReader:
    """What was recorded at the moment under the pointer, in the lane under it."""

    def __init__(self, lanes: Sequence[Lane], key: str) -> None:
        self._lanes, self._key = tuple(lanes), key

    def at(self, place: Place) -> Reading | None:
        row = round(place.y)
        if not 0 <= row < len(self._lanes):
            return None
        lane = self._lanes[row]
        stretch = lane.at(place.x)
        line = Line(stretch.text if stretch else "nothing recorded here")
        return Reading(lane.name, (line,), place.x, row, (self._key,))

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        row = round(place.y)
        if up:
            return (place.x, row - up) if 0 <= row - up < len(self._lanes) else None
        middles = [(s.begin_s + s.end_s) / 2.0 for s in self._lanes[row].stretches]
        next_middles = [x for x in middles if (x - place.x) * right > 1e-12]
        return (min(next_middles, key=lambda x: abs(x - place.x)), row) if next_middles else None


BLOCK = 256
_AT_ONCE = 1024 * BLOCK
"""A round that is shown late is taken in piece by piece, and none of it stays in memory."""
Taken = Callable[[np.ndarray], np.ndarray]
"""Nanoseconds [n] of RECORD records [n]."""


class Envelope:
    """Per block of 256 samples its start and its least, greatest and median latency [s].

    Times are seconds since the round's first sample; `taken_ns` tells of records what each took.
    """

    def __init__(self, taken_ns: Taken) -> None:
        self._taken_ns = taken_ns
        self._clear()

    def _clear(self) -> None:
        self.samples = 0
        self.start_s = self.least_s = self.greatest_s = self.median_s = np.empty(0)
        self.first_ns = 0
        self.end_s = 0.0
        self.warmup_end_s = 0.0
        self._warm_until = 0

    def follow(self, records: np.ndarray) -> None:
        """Take in what was added to the round's RECORD records since the last call."""
        if len(records) == 0:
            self._clear()
            return
        another = self.samples and int(records["started_ns"][0]) != self.first_ns
        if len(records) < self.samples or another:
            self._clear()
        self.first_ns = int(records["started_ns"][0])
        self.end_s = (int(records["finished_ns"][-1]) - self.first_ns) * 1e-9
        self._follow_warmup(records)
        whole = len(records) // BLOCK * BLOCK
        while self.samples < whole:
            end = min(whole, self.samples + _AT_ONCE)
            self._add_blocks(records[self.samples : end])
            if end - self.samples == _AT_ONCE:
                give_back(records)
            self.samples = end

    def _add_blocks(self, new_records: np.ndarray) -> None:
        latency = self._taken_ns(new_records).reshape(-1, BLOCK)
        start_s = (new_records["started_ns"][::BLOCK] - self.first_ns) * 1e-9
        median = np.partition(latency, BLOCK // 2, axis=1)[:, BLOCK // 2]
        self.start_s = np.concatenate([self.start_s, start_s])
        self.least_s = np.concatenate([self.least_s, latency.min(axis=1) * 1e-9])
        self.greatest_s = np.concatenate([self.greatest_s, latency.max(axis=1) * 1e-9])
        self.median_s = np.concatenate([self.median_s, median * 1e-9])

    def _follow_warmup(self, records: np.ndarray) -> None:
        """Warm-up comes first: look on from where it last went on, until a measured sample."""
        while self._warm_until < len(records) and records["phase"][self._warm_until] != MEASURED:
            phases = records["phase"][self._warm_until : self._warm_until + 65536]
            measured_indices = np.nonzero(phases == MEASURED)[0]
            self._warm_until += int(measured_indices[0]) if len(measured_indices) else len(phases)
            last_ns = int(records["finished_ns"][self._warm_until - 1])
            self.warmup_end_s = (last_ns - self.first_ns) * 1e-9


RAW_LIMIT = 100_000
"""So many visible samples are drawn as they are."""

_DOTS_LIMIT = 1500
_LEVELS = 400


class Trace:
    """A thin line of samples and a strong line of their running median."""

    def __init__(
        self,
        plot: pg.PlotItem,
        style: SeriesStyle,
        theme: Theme,
        taken_ns: Taken,
        envelope: Envelope,
    ) -> None:
        self.envelope = envelope
        self._taken_ns = taken_ns
        self._theme = theme
        self._samples = plot.plot(symbolSize=4)
        self._median = plot.plot()
        self._median.setZValue(5)
        self._drawn: tuple[object, ...] = ()
        self._style = style
        self._dress()

    def set_style(self, style: SeriesStyle) -> None:
        """Draw so from now on."""
        if style != self._style:
            self._style = style
            self._dress()

    def _dress(self) -> None:
        # Opaque, as thousands of thin lines overlap.
        faint = mixed(self._style.color, QColor(self._theme.base), 0.55)
        self._samples.setPen(pg.mkPen(faint, width=1))
        self._samples.setSymbolBrush(self._style.color)
        pen = self._style.pen(2.2)
        pen.setColor(mixed(self._style.color, QColor(self._theme.text), 0.35))
        self._median.setPen(pen)

    def follow(self, records: np.ndarray) -> None:
        self.envelope.follow(records)

    def draw(self, records: np.ndarray, offset_s: float, view: tuple[float, float]) -> None:
        """Draw the part within `view`, seconds on the plot's axis; nothing if it is drawn."""
        part = self._visible(records, view[0] - offset_s, view[1] - offset_s)
        raw = part[1] - part[0] <= RAW_LIMIT
        state = (len(records), offset_s, part if raw else None)
        if state == self._drawn:
            return
        self._drawn = state
        if raw:
            self._draw_raw(records[slice(*part)], offset_s)
        else:
            envelope = self.envelope
            x = np.repeat(envelope.start_s + offset_s, 2)
            y = np.empty(len(x))
            y[0::2], y[1::2] = envelope.least_s, envelope.greatest_s
            self._samples.setData(x, _log(y), symbol=None)
        self._draw_median(offset_s)

    def _visible(self, records: np.ndarray, low_s: float, high_s: float) -> tuple[int, int]:
        """The first and last sample to draw, with a screen to either side while they are few."""
        if len(records) <= RAW_LIMIT:
            return 0, len(records)
        width = high_s - low_s
        starts = self.envelope.start_s
        first = int(np.searchsorted(starts, low_s - width)) - 1
        last = int(np.searchsorted(starts, high_s + width)) + 1
        end = len(records) if last >= len(starts) else last * BLOCK
        return max(0, first) * BLOCK, end

    def _draw_raw(self, records: np.ndarray, offset_s: float) -> None:
        x = (records["started_ns"] - self.envelope.first_ns) * 1e-9 + offset_s
        latency = self._taken_ns(records) * 1e-9
        dots = len(records) <= _DOTS_LIMIT
        self._samples.setData(
            x,
            _log(latency),
            symbol="o" if dots else None,
            symbolPen=None,
            symbolBrush=self._style.color,
        )

    def _draw_median(self, offset_s: float) -> None:
        """Medians of blocks, halved in number by their own medians until they are few."""
        x, y = self.envelope.start_s, self.envelope.median_s
        step = -(-len(x) // _LEVELS)
        if step > 1:
            whole = len(x) // step * step
            x, y = x[:whole:step], np.median(y[:whole].reshape(-1, step), axis=1)
        if len(x):
            x = np.append(x, self.envelope.end_s)
            self._median.setData(x + offset_s, _log(np.append(y, y[-1])))


def _log(seconds: np.ndarray) -> np.ndarray:
    """log10 of what may be zero: clocks tick in nanoseconds at best."""
    return np.log10(np.maximum(seconds, 1e-9))


def warm_color(theme: Theme) -> QColor:
    """Of what was not counted yet."""
    color = QColor(theme.muted)
    color.setAlpha(60)
    return color


class RoundLayer(Overlay):
    """Warm-up shaded, and where each round begins."""

    def __init__(self, plot: pg.PlotItem, theme: Theme, *, named_row: bool) -> None:
        super().__init__(plot, theme)
        self._untold = 1 if named_row else 0  # the row's own name stands where that would
        self._offsets: tuple[float, ...] = ()
        self._warm: tuple[tuple[float, float], ...] = ()

    def set_rounds(self, offsets_s: Sequence[float], warm_s: Sequence[tuple[float, float]]) -> None:
        """Where rounds begin, and from when to when each warmed up, on the time axis."""
        self._offsets, self._warm = tuple(offsets_s[:-1]), tuple(warm_s)
        self.update()

    def draw(self, painter: QPainter) -> None:
        box = self.boundingRect()
        for begin, end in self._warm:
            left, right = self.x_px(begin), self.x_px(end)
            shade = QRectF(left, box.top(), max(1.5, right - left), box.height())
            painter.fillRect(shade & box, warm_color(self._theme))
        painter.setFont(plot_font(-1.5))
        metrics = QFontMetricsF(painter.font())
        for number, offset in enumerate(self._offsets):
            x = self.x_px(offset)
            if not box.left() - 1 <= x <= box.right():
                continue
            painter.setPen(QPen(QColor(self._theme.border), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            if number < self._untold:
                continue
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QPointF(x + 4, box.top() + metrics.ascent() + 2), round_name(number))


class NameLayer(Overlay):
    """Whose row it is, at its upper left end and over its samples."""

    def __init__(self, plot: pg.PlotItem, name: str, theme: Theme) -> None:
        super().__init__(plot, theme)
        self._name = name

    def draw(self, painter: QPainter) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0, bold=True))
        metrics = QFontMetricsF(painter.font())
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideRight, box.width() - 8)
        place = QRectF(
            box.left() + 2, box.top() + 1, metrics.horizontalAdvance(name) + 4, metrics.height()
        )
        ground = QColor(self._theme.base)
        ground.setAlpha(225)
        painter.fillRect(place, ground)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, name)


MOST_ROWS = 1_000_000


def sample_rows(series: Iterable[tuple[Series, Taken]]) -> list[list[object]]:
    """Series, clock, round, when it started in nanoseconds, what it took in microseconds, phase."""
    rows: list[list[object]] = []
    for case_series, durations_of in series:
        for number, records in enumerate(case_series.rounds):
            first_records = records[: max(0, MOST_ROWS - len(rows))]
            for record, us in zip(
                first_records, (durations_of(first_records) / 1e3).tolist(), strict=True
            ):
                phase = PHASES[int(record["phase"])]
                start_ns = int(record["started_ns"])
                rows.append([case_series.label, case_series.clock, number, start_ns, us, phase])
    return rows
