"""The axes of our pictures: values to places, and the lines of two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.console.svg import text

_FEW_DECADES = 2.5
_GRID = "#dddddd"


@dataclass(frozen=True, slots=True)
class LogScale:
    """From `least` to `most`, both over 0, to places from `begin` to `end`."""

    least: float
    most: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.least) / math.log(self.most / self.least)
        return self.begin + share * (self.end - self.begin)

    @property
    def ticks(self) -> list[float]:
        """Powers of ten, with 2 and 5 times those where they are few; else both ends."""
        first, last = math.log10(self.least), math.log10(self.most)
        steps = (1, 2, 5) if last - first < _FEW_DECADES else (1,)
        powers = range(math.floor(first), math.ceil(last) + 1)
        known = [step * 10.0**power for power in powers for step in steps]
        return [tick for tick in known if self.least <= tick <= self.most] or [
            self.least,
            self.most,
        ]


@dataclass(frozen=True, slots=True)
class LinearScale:
    """From `least` to `most`, which differ, to places from `begin` to `end`."""

    least: float
    most: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)

    @property
    def ticks(self) -> list[float]:
        """Four to ten multiples of 1, 2 or 5 times a power of ten."""
        rough = (self.most - self.least) / 4
        power = 10.0 ** math.floor(math.log10(rough))
        step = max(times * power for times in (1, 2, 5) if times * power <= rough)
        first, last = math.ceil(self.least / step), math.floor(self.most / step)
        return [number * step for number in range(first, last + 1)]


Scale = LogScale | LinearScale


def grid(
    x: Scale, y: Scale, x_text: Callable[[float], str], y_text: Callable[[float], str]
) -> Iterator[str]:
    """A line at each tick of both, from end to end of the other, and what it stands for."""
    for tick in x.ticks:
        yield _line(x(tick), y.end, x(tick), y.begin)
        yield text(x(tick), y.begin + 18, x_text(tick), 'text-anchor="middle"')
    for tick in y.ticks:
        yield _line(x.begin, y(tick), x.end, y(tick))
        yield text(x.begin - 8, y(tick) + 4, y_text(tick), 'text-anchor="end"')


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_GRID}"/>'
