"""The latency over the rate as a picture: a small plot for each search, its target and its knee."""

from __future__ import annotations

import math
from collections.abc import Iterator

from app.cases.target import Target
from app.console.svg import WIDTH as _WIDTH
from app.console.svg import document
from app.console.svg import escaped as _escaped
from app.console.svg import text as _text
from app.results import text
from app.results.rate_answer import kept, rate, sentence
from app.results.rate_curve import knee_hz
from app.results.rate_search import Searched
from app.results.rates_found import RatesFound
from app.stats.judging import figure_us

SVG = "rates.svg"
_LEFT, _RIGHT, _TITLE, _PLOT, _BELOW = 80, 20, 30, 200, 40
_FITTING = 110
"""A sentence of so many characters fits in the picture's width."""
_PANEL = _TITLE + _PLOT + _BELOW
_BOTTOM = _TITLE + _PLOT
_LINE, _TARGET, _KNEE, _BETWEEN = "#1f5f99", "#b3261e", "#1b7f3b", "#f4dcda"


def as_svg(found: RatesFound) -> bytes:
    """An SVG document of the searches with their subjects; hovering over a point names it."""
    panels = [
        _panel(sentence(subject, searched, found.target), searched, found.target)
        for subject, searched in found.searches
    ]
    return document(panels, _PANEL).encode()


def _panel(answer: str, searched: Searched, target: Target) -> Iterator[str]:
    """Rates from 0 on, latencies on a logarithmic scale."""
    size = min(12.0, 12.0 * _FITTING / len(answer))
    yield _text(10, 18, answer, f'font-weight="bold" font-size="{size:.1f}"')
    told = [(point.rate_hz, figure_us(point.rounds)) for point in searched.points]
    curve = [(hz, us) for hz, us in told if hz is not None and us is not None]
    if not curve:
        return
    most_hz = max(hz for hz, _ in curve)
    heights = [math.log(us) for us in (*(us for _, us in curve), target.limit_us)]
    least, tall = min(heights), (max(heights) - min(heights)) or 1.0

    def x(hz: float) -> float:
        return _LEFT + hz / most_hz * (_WIDTH - _LEFT - _RIGHT)

    def y(us: float) -> float:
        return _BOTTOM - (math.log(us) - least) / tall * _PLOT

    ends = searched.bracket
    if ends.low_hz is not None and ends.high_hz is not None:
        left, right = x(min(ends.low_hz, most_hz)), x(min(ends.high_hz, most_hz))
        yield (
            f'<rect x="{left:.1f}" y="{_TITLE}" width="{right - left:.1f}" height="{_PLOT}" '
            f'fill="{_BETWEEN}"/>'
        )
    yield _line(_LEFT, y(target.limit_us), _WIDTH - _RIGHT, y(target.limit_us), _TARGET)
    yield _text(_LEFT + 4, y(target.limit_us) - 4, kept(target), f'fill="{_TARGET}"')
    bend = knee_hz(searched)
    if bend is not None:
        yield _line(x(bend), _TITLE, x(bend), _BOTTOM, _KNEE)
        right = bend > most_hz / 2
        beside = 'text-anchor="end"' if right else ""
        place = x(bend) + (-4 if right else 4)
        yield _text(place, _TITLE + 12, f"knee at {rate(bend)}", f'fill="{_KNEE}" {beside}')
    for us in (math.exp(least), math.exp(least + tall)):
        yield _text(_LEFT - 8, y(us) + 4, text.latency(us), 'text-anchor="end"')
    yield _text(_LEFT, _BOTTOM + 18, "0/s")
    yield _text(_WIDTH - _RIGHT, _BOTTOM + 18, rate(most_hz), 'text-anchor="end"')
    points = " ".join(f"{x(hz):.1f},{y(us):.1f}" for hz, us in curve)
    yield f'<polyline points="{points}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>'
    for hz, us in curve:
        yield (
            f'<circle cx="{x(hz):.1f}" cy="{y(us):.1f}" r="3" fill="{_LINE}">'
            f"<title>{_escaped(f'{rate(hz)}: {target.name} {text.latency(us)}')}</title></circle>"
        )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-dasharray="4 3"/>'
    )
