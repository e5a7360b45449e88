"""Lanes below a timeline: clock, temperature, power, throttling and load beside the samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.cases.telemetry import Disturbance
from app.cases.telemetry import Reading as DeviceReading
from app.formatting.text import significant
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import Line, Place, Reading
from app.run_folder.telemetry import RoundTelemetry

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
    """All that is known of one moment: `CPU clock 2,400 MHz in the round's mean, load 0.31 …`."""
    stretches = [(lane.name, lane.at(at_s)) for lane in lanes]
    return "; ".join(f"{name} {stretch.text}" for name, stretch in stretches if stretch)


def _read_round(round_telemetry: RoundTelemetry, when: RoundTimes) -> Iterator[tuple[str, Stretch]]:
    if round_telemetry.cpu_mhz is not None:
        mean = f"{round_telemetry.cpu_mhz:.4g} MHz in the round's mean"
        yield "CPU clock", Stretch(when.begin_s, when.end_s, mean, round_telemetry.cpu_mhz)
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
    ]
    return ", ".join(filter(None, texts))


def _format_count(number: int, text: str, more: str) -> str:
    return f"{number:,} {text if number == 1 else more}" if number else ""


_LANE_HEIGHT, _AXIS_HEIGHT = 20, 44
_LEAST_REACH = 0.05


class LaneLayer(Overlay):
    """A row for each lane: a number as a line between its least and its greatest, words as bars."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self._theme = theme
        self._lanes: tuple[Lane, ...] = ()

    def set_lanes(self, lanes: Sequence[Lane]) -> None:
        self._lanes = tuple(lanes)
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
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
