"""A history as a picture: a small plot for each series, its levels, and its changes marked."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.latency_columns import INTERVALS
from app.console.svg import WIDTH, document, escaped
from app.console.svg import text as svg_text
from app.results import text
from app.results.history import History, Trend

_LEFT, _RIGHT, _TITLE, _PLOT, _BELOW = 80, 20, 30, 110, 30
_PANEL = _TITLE + _PLOT + _BELOW
_LEAST_TALL = 0.1
"""A plot spans at least so much of its level, so that what is quiet looks quiet."""
_LINE, _LEVEL = "#1f5f99", "#888888"
_WORDS = {"slower": "#b3261e", "faster": "#1b7f3b"}


def as_svg(found: History) -> bytes:
    """An SVG document; hovering over a point names its run and its figure."""
    return document([_panel(trend) for trend in found.trends], _PANEL).encode()


def _panel(trend: Trend) -> Iterator[str]:
    values = [point.value_us for point in trend.points]
    middle = (min(values) + max(values)) / 2.0
    tall = max(max(values) - min(values), _LEAST_TALL * middle)
    least, most = middle - tall / 2.0, middle + tall / 2.0
    wide = max(1, len(values) - 1)
    bottom = _TITLE + _PLOT

    def x(place: float) -> str:
        return f"{_LEFT + place / wide * (WIDTH - _LEFT - _RIGHT):.1f}"

    def y(value: float) -> str:
        return f"{bottom - (value - least) / tall * _PLOT:.1f}"

    title = f"{trend.label}, {INTERVALS[trend.percentile]}, {trend.host or 'any host'}"
    yield svg_text(10, 18, title, 'font-weight="bold"')
    for value in (least, most):
        yield svg_text(_LEFT - 8, float(y(value)) + 4, text.latency(value), 'text-anchor="end"')
    first, last = (point.run.created_at_utc[:10] for point in (trend.points[0], trend.points[-1]))
    yield svg_text(_LEFT, bottom + 18, first)
    if len(values) > 1:
        yield svg_text(WIDTH - _RIGHT, bottom + 18, last, 'text-anchor="end"')
    for begin, end, level in trend.levels():
        yield (
            f'<line x1="{x(begin)}" y1="{y(level)}" x2="{x(end)}" y2="{y(level)}" '
            f'stroke="{_LEVEL}" stroke-dasharray="4 3"/>'
        )
    places = {point.run.run_id: place for place, point in enumerate(trend.points)}
    for change in trend.changes:
        place, colour = places[change.point.run.run_id], _WORDS[change.word]
        yield (
            f'<line x1="{x(place - 0.5)}" y1="{_TITLE}" x2="{x(place - 0.5)}" y2="{bottom}" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        )
        told = f"{change.word} {change.ratio - 1.0:+.1%}"
        anchor = f'fill="{colour}" text-anchor="middle"'
        yield svg_text(float(x(place - 0.5)), bottom + 18, told, anchor)
    line = " ".join(f"{x(place)},{y(value)}" for place, value in enumerate(values))
    yield f'<polyline points="{line}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>'
    for place, point in enumerate(trend.points):
        told = f"{point.run.path} of {point.run.created_at_utc}: {text.latency(point.value_us)}"
        yield (
            f'<circle cx="{x(place)}" cy="{y(point.value_us)}" r="3" fill="{_LINE}">'
            f"<title>{escaped(told)}</title></circle>"
        )
