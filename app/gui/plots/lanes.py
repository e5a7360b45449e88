"""What was recorded beside the samples, as lanes: clock, temperature, power, throttling, load.

Knows no Qt. A lane is there only where some round has recorded something for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.cases.telemetry import Disturbance
from app.cases.telemetry import Reading as DeviceReading
from app.formatting.text import significant
from app.run_folder.telemetry import RoundTelemetry

_TOLD = {
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


def lanes_of(watched: Sequence[RoundTelemetry], times: Sequence[RoundTimes]) -> tuple[Lane, ...]:
    """The lanes of one case, of all its rounds together."""
    found: dict[str, list[Stretch]] = {}
    for one, when in zip(watched, times, strict=False):
        for name, stretch in _of_round(one, when):
            found.setdefault(name, []).append(stretch)
    order = sorted(found, key=lambda name: (name in ("came between", "load"), name))
    return tuple(Lane(name, tuple(found[name])) for name in order)


def lane_names(watched: Sequence[RoundTelemetry]) -> tuple[str, ...]:
    """How many lanes there will be, wherever rounds come to lie."""
    return tuple(lane.name for lane in lanes_of(watched, [_ANYWHERE] * len(watched)))


def told_at(lanes: Sequence[Lane], at_s: float) -> str:
    """All that is known of one moment: `CPU clock 2,400 MHz in the round's mean, load 0.31 …`."""
    held = [(lane.name, lane.at(at_s)) for lane in lanes]
    return "; ".join(f"{name} {stretch.text}" for name, stretch in held if stretch)


def _of_round(one: RoundTelemetry, when: RoundTimes) -> Iterator[tuple[str, Stretch]]:
    if one.cpu_mhz is not None:
        mean = f"{one.cpu_mhz:.4g} MHz in the round's mean"
        yield "CPU clock", Stretch(when.begin_s, when.end_s, mean, one.cpu_mhz)
    if one.load is not None:
        told = f"{one.load:.2f} when the round began"
        yield "load", Stretch(when.begin_s, when.end_s, told, one.load)
    for disturbance in one.disturbances:
        ends = when.at_s(disturbance.begun_ns), when.at_s(disturbance.ended_ns)
        yield "came between", Stretch(*ends, disturbance_text(disturbance), amiss=True)
    for device in dict.fromkeys(reading.device for reading in one.readings):
        yield from _of_device(device, [r for r in one.readings if r.device == device], when)


def _of_device(
    device: str, readings: Sequence[DeviceReading], when: RoundTimes
) -> Iterator[tuple[str, Stretch]]:
    """Each reading holds until the next one."""
    ends = [*(reading.time_ns for reading in readings[1:]), None]
    for reading, end_ns in zip(readings, ends, strict=True):
        begin_s = max(when.begin_s, when.at_s(reading.time_ns))
        end_s = when.end_s if end_ns is None else min(when.end_s, when.at_s(end_ns))
        if end_s <= begin_s:
            continue
        for field, (name, unit) in _TOLD.items():
            value = getattr(reading, field)
            if value is not None:
                text = f"{value:.4g} {unit}"
                yield f"{device} {name}", Stretch(begin_s, end_s, text, value)
        if reading.throttle is not None:
            text = " ".join(word.replace("_", " ") for word in reading.throttle) or "none"
            yield f"{device} throttle", Stretch(begin_s, end_s, text, amiss=bool(reading.throttle))


def disturbance_text(seen: Disturbance) -> str:
    """`4 ms stolen, 2 switches, low clock`: what came between the runs of a block."""
    told = [
        f"{significant(seen.steal_ms, 2)} ms stolen" if seen.steal_ms else "",
        _counted(seen.involuntary_switches, "switch", "switches"),
        _counted(seen.major_faults, "page from disk", "pages from disk"),
        "many interrupts" if seen.many_interrupts else "",
        "low clock" if seen.low_clock else "",
    ]
    return ", ".join(filter(None, told))


def _counted(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}" if number else ""
