"""The axes of a drawn figure: values to pixels, ticks, and a number as an axis prints it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from app.present.figure import Axis, Unit
from app.results import text

_FEW_DECADES = 2.5
_ROOM = 1.15
"""A logarithmic axis reaches beyond its marks by this factor."""
_LINEAR_ROOM = 0.04

TICK_TEXTS: dict[Unit, Callable[[float], str]] = {
    "": lambda value: f"{value:.4g}",
    "us": lambda value: text.time_tick(value * 1e-6) if value else "0",
    "per_s": lambda value: f"{text.count_tick(value)}/s",
    "percent": lambda value: f"{value:.4g} %",
    "times": lambda value: f"{value:.4g}x",
    "flop_per_s": lambda value: f"{text.count_tick(value)}FLOP/s",
    "bytes": lambda value: f"{text.count_tick(value)}B",
    "count": text.count_tick,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """From `least` to `most`, which differ, to pixels from `begin` to `end`."""

    least: float
    most: float
    begin: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        if self.is_log:
            share = math.log(value / self.least) / math.log(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, most: int) -> list[float]:
        """Round values, at most so many, two or more where there is any room."""
        if not self.is_log:
            return linear_ticks(self.least, self.most, most)
        first, last = math.log10(self.least), math.log10(self.most)
        powers = range(math.floor(first), math.ceil(last) + 1)
        steps = (1, 2, 5) if last - first < _FEW_DECADES else (1,)
        for stride in (0, 1, 2, 3, 4, 6, 9):
            chosen = powers[:: max(1, stride)]
            known = [s * 10.0**power for power in chosen for s in (steps if not stride else (1,))]
            found = [tick for tick in known if self.least <= tick <= self.most]
            if len(found) <= most:
                break
        return found if len(found) > 1 else linear_ticks(self.least, self.most, most)


def linear_ticks(least: float, most: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten: at most so many, but two or more."""
    rough = (most - least) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [times * power for times in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)]
    largest = next(place for place, step in enumerate(steps) if step >= rough * 0.999)
    for step in reversed(steps[: largest + 1]):
        first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
        if last > first:
            break
    return [number * step for number in range(first, last + 1)]


def scale_of(axis: Axis, span: tuple[float, float], begin: float, end: float) -> Scale:
    """The scale of an axis that shows `span`, with room for marks at its ends but below 0."""
    low, high = span
    if axis.scale == "log":
        least, most = low / _ROOM, high * _ROOM
    else:
        room = _LINEAR_ROOM * (high - low) or abs(high) * 0.1 or 0.5
        least, most = low - room, high + room
    return Scale(low if low == 0 else least, most, begin, end, axis.scale == "log")


def tick_text(axis: Axis, value: float) -> str:
    """A value as the axis prints it."""
    return TICK_TEXTS[axis.unit](value)
