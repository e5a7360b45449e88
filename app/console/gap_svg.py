"""Latency over the gap as a picture: p50 and p99 of each runtime, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.console.svg import WIDTH, document, escaped
from app.console.svg import text as svg_text
from app.results import text
from app.results.gap_curves import GapCurve, Idleness

_LEFT, _RIGHT, _TITLE, _PLOT, _BELOW = 80, 220, 30, 240, 40
_PANEL = _TITLE + _PLOT + _BELOW
_COLOURS = ("#1f5f99", "#b3261e", "#1b7f3b", "#8a5a00", "#6a3d9a", "#444444")
_GRID = "#dddddd"
_FEW_DECADES = 2.5


@dataclass(frozen=True, slots=True)
class _Scale:
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


def gaps_svg(found: Sequence[Idleness]) -> str:
    """An SVG document with a plot for each model and sizes; a closed loop has no place on it."""
    return document([_panel(idle) for idle in found], _PANEL)


def _panel(idle: Idleness) -> Iterator[str]:
    values = [
        value
        for curve in idle.curves
        for point in curve.points
        for value in (point.p50_us, point.p99_us)
        if value and point.gap_us
    ]
    gaps = [gap for gap in idle.gaps_us if gap]
    bottom = _TITLE + _PLOT
    x = _Scale(gaps[0], gaps[-1], _LEFT, WIDTH - _RIGHT)
    y = _Scale(min(values) / 1.2, max(values) * 1.2, bottom, _TITLE)
    yield svg_text(10, 18, f"latency after a pause: {idle.what}", 'font-weight="bold"')
    for tick in x.ticks:
        yield _line(x(tick), _TITLE, x(tick), bottom)
        yield svg_text(x(tick), bottom + 18, text.time_tick(tick * 1e-6), 'text-anchor="middle"')
    for tick in y.ticks:
        yield _line(_LEFT, y(tick), WIDTH - _RIGHT, y(tick))
        yield svg_text(_LEFT - 8, y(tick) + 4, text.latency(tick), 'text-anchor="end"')
    for number, curve in enumerate(idle.curves):
        colour = _COLOURS[number % len(_COLOURS)]
        place = _TITLE + 12 + 36 * number
        yield from _curve(curve, "p50", "", colour, x, y)
        yield from _curve(curve, "p99", ' stroke-dasharray="4 3"', colour, x, y)
        yield svg_text(WIDTH - _RIGHT + 12, place, curve.of, f'fill="{colour}"')
        yield svg_text(WIDTH - _RIGHT + 12, place + 15, "p50, p99 dashed", f'fill="{colour}"')


def _curve(
    curve: GapCurve, name: str, dashes: str, colour: str, x: _Scale, y: _Scale
) -> Iterator[str]:
    known = [
        (point.gap_us, value)
        for point in curve.points
        if point.gap_us and (value := point.p50_us if name == "p50" else point.p99_us)
    ]
    places = " ".join(f"{x(gap):.1f},{y(value):.1f}" for gap, value in known)
    yield (
        f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
    )
    for gap, value in known:
        told = f"{curve.of}, {name} after {text.latency(gap)}: {text.latency(value)}"
        yield (
            f'<circle cx="{x(gap):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}">'
            f"<title>{escaped(told)}</title></circle>"
        )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_GRID}"/>'
