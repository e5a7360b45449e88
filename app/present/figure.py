"""A figure as data: series of marks, reference lines, regions, and the scales of its two axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.formatting import text

Unit = Literal["", "us", "per_s", "percent", "times", "flop_per_s", "bytes", "count"]
Kind = Literal["points", "line", "steps", "bars"]
Symbol = Literal["circle", "diamond", "cross", "none"]
Tone = Literal["", "ok", "error", "quiet"]


@dataclass(frozen=True, slots=True)
class Axis:
    """`names` make it one of categories, from the top down; else `scale` is how numbers lie on it.

    `ticks` are (place, text) where the figure has its own. It reaches from `least` to `most` at
    least, where they are given.
    """

    title: str = ""
    unit: Unit = ""
    scale: Literal["linear", "log"] = "linear"
    names: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """`low` and `high` are the ends of an interval of its value, `start` is where a bar begins.

    `text` describes the mark, `label` is printed beside it. A hollow mark is not to be ranked.
    """

    x: float
    y: float
    text: str = ""
    low: float | None = None
    high: float | None = None
    start: float = 0.0
    label: str = ""
    is_hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that belong together: points, points joined by a line, steps, or horizontal bars.

    `color` and `dash` are numbers: who draws has a list of each. `cases` are the ids of the cases
    that it is of. Bars are as thick as `thickness` says, as a share of a name's place.
    """

    name: str
    marks: tuple[Mark, ...]
    kind: Kind = "points"
    color: int = 0
    dash: int = 0
    symbol: Symbol = "circle"
    cases: tuple[str, ...] = ()
    has_legend: bool = True
    is_pale: bool = False
    thickness: float = 0.6


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line at one value of an axis, over the whole of the other."""

    axis: Literal["x", "y"]
    value: float
    label: str = ""
    tone: Tone = "quiet"


@dataclass(frozen=True, slots=True)
class Region:
    """All between two values of the x axis."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure:
    """`note` explains the marks. A renderer without pictures shows nothing of it: tables of the
    document have the same numbers."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[ReferenceLine, ...] = ()
    regions: tuple[Region, ...] = ()
    note: str = ""

    @property
    def is_by_name(self) -> bool:
        """Whether values, with their intervals, lie along x, and names down y."""
        return bool(self.y.names)

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for series in self.series for mark in series.marks)


def with_interval(
    value: float, low: float | None, high: float | None, unit: Unit
) -> tuple[str, float | None, float | None]:
    """The figure with its interval in words, and the ends; one too noisy is left out."""

    def words(number: float) -> str:
        return text.figure(number, unit) if unit else text.significant(number, 4)

    if low is None or high is None or text.is_too_noisy(low, high):
        return words(value), None, None
    return f"{words(value)} ({words(low)} to {words(high)})", low, high


def value_span(figure: Figure, axis: Literal["x", "y"]) -> tuple[float, float]:
    """The least and the greatest value that an axis has to show, intervals included."""
    shown_axis, along_x = (figure.x, True) if axis == "x" else (figure.y, False)
    values = [mark.x if along_x else mark.y for mark in figure.marks]
    if along_x == figure.is_by_name:
        ends = (end for mark in figure.marks for end in (mark.low, mark.high) if end is not None)
        values += ends
    if along_x:
        bars = (series for series in figure.series if series.kind == "bars")
        values += [mark.start for series in bars for mark in series.marks]
    values += [line.value for line in figure.references if line.axis == axis]
    values += [end for end in (shown_axis.least, shown_axis.most) if end is not None]
    if shown_axis.scale == "log":
        values = [value for value in values if value > 0]
    return (min(values), max(values)) if values else (0.0, 1.0)


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

    minimum: float
    maximum: float
    begin: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        if self.is_log:
            share = math.log(value / self.minimum) / math.log(self.maximum / self.minimum)
        else:
            share = (value - self.minimum) / (self.maximum - self.minimum)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, maximum_count: int) -> list[float]:
        """Round values, at most so many, two or more where there is any room."""
        if not self.is_log:
            return linear_ticks(self.minimum, self.maximum, maximum_count)
        first, last = math.log10(self.minimum), math.log10(self.maximum)
        powers = range(math.floor(first), math.ceil(last) + 1)
        steps = (1, 2, 5) if last - first < _FEW_DECADES else (1,)
        for stride in (0, 1, 2, 3, 4, 6, 9):
            powers_used = powers[:: max(1, stride)]
            candidates = [
                s * 10.0**power for power in powers_used for s in (steps if not stride else (1,))
            ]
            visible = [tick for tick in candidates if self.minimum <= tick <= self.maximum]
            if len(visible) <= maximum_count:
                break
        return (
            visible if len(visible) > 1 else linear_ticks(self.minimum, self.maximum, maximum_count)
        )


def linear_ticks(minimum: float, maximum: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten: at most so many, but two or more."""
    rough = (maximum - minimum) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [times * power for times in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)]
    largest = next(place for place, step in enumerate(steps) if step >= rough * 0.999)
    for step in reversed(steps[: largest + 1]):
        first, last = math.ceil(minimum / step - 1e-9), math.floor(maximum / step + 1e-9)
        if last > first:
            break
    return [number * step for number in range(first, last + 1)]


def scale_of(axis: Axis, span: tuple[float, float], begin: float, end: float) -> Scale:
    """The scale of an axis that shows `span`, with room for marks at its ends but below 0."""
    low, high = span
    if axis.scale == "log":
        minimum, maximum = low / _ROOM, high * _ROOM
    else:
        room = _LINEAR_ROOM * (high - low) or abs(high) * 0.1 or 0.5
        minimum, maximum = low - room, high + room
    return Scale(low if low == 0 else minimum, maximum, begin, end, axis.scale == "log")


def tick_text(axis: Axis, value: float) -> str:
    """A value as the axis prints it."""
    return TICK_TEXTS[axis.unit](value)
