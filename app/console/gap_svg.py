"""Latency over the gap as a picture: p50 and p99 of each runtime, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.console.svg import WIDTH, colour_of, document, escaped
from app.console.svg import text as svg_text
from app.console.svg_scale import LogScale, grid
from app.results import text
from app.results.gap_curves import GapCurve, Idleness

_LEFT, _RIGHT, _TITLE, _PLOT, _BELOW = 80, 220, 30, 240, 40
_PANEL = _TITLE + _PLOT + _BELOW


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
    x = LogScale(gaps[0], gaps[-1], _LEFT, WIDTH - _RIGHT)
    y = LogScale(min(values) / 1.2, max(values) * 1.2, bottom, _TITLE)
    yield svg_text(10, 18, f"latency after a pause: {idle.what}", 'font-weight="bold"')
    yield from grid(x, y, lambda gap_us: text.time_tick(gap_us * 1e-6), text.latency)
    for number, curve in enumerate(idle.curves):
        colour = colour_of(number)
        place = _TITLE + 12 + 36 * number
        yield from _curve(curve, "p50", "", colour, x, y)
        yield from _curve(curve, "p99", ' stroke-dasharray="4 3"', colour, x, y)
        yield svg_text(WIDTH - _RIGHT + 12, place, curve.of, f'fill="{colour}"')
        yield svg_text(WIDTH - _RIGHT + 12, place + 15, "p50, p99 dashed", f'fill="{colour}"')


def _curve(
    curve: GapCurve, name: str, dashes: str, colour: str, x: LogScale, y: LogScale
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
