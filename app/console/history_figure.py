"""The latency of a case from run to run: its intervals, its levels, and where the level changed."""

from __future__ import annotations

from app.cases.latency_columns import INTERVALS
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series
from app.results import text
from app.results.history import History, Point, Trend

_LEAST_TALL = 0.1
"""The axis spans at least so much of the level, so that what is quiet looks quiet."""
_LEVEL_COLOR = 6


def history_figures(found: History) -> list[Figure]:
    """A figure for each series."""
    return [_figure(trend) for trend in found.trends]


def _figure(trend: Trend) -> Figure:
    values = [point.value_us for point in trend.points]
    middle = (min(values) + max(values)) / 2.0
    tall = max(max(values) - min(values), _LEAST_TALL * middle)
    days = [(float(at), point.run.created_at_utc[:10]) for at, point in enumerate(trend.points)]
    measured = Series(
        "measured",
        tuple(_mark(at, point) for at, point in enumerate(trend.points)),
        "line",
        cases=(trend.case_id,),
        has_legend=False,
    )
    levels = [
        Series(
            "level",
            (Mark(first - 0.5, level), Mark(last + 0.5, level)),
            "line",
            _LEVEL_COLOR,
            dash=1,
            symbol="none",
            has_legend=False,
        )
        for first, last, level in trend.levels()
    ]
    places = {point.run.run_id: at for at, point in enumerate(trend.points)}
    changes = tuple(
        ReferenceLine(
            "x",
            places[change.point.run.run_id] - 0.5,
            f"{change.word} {change.ratio - 1.0:+.1%}",
            "error" if change.word == "slower" else "ok",
        )
        for change in trend.changes
    )
    return Figure(
        f"{trend.label}, {INTERVALS[trend.percentile]}, {trend.host or 'any host'}",
        Axis("runs in order of time", ticks=tuple(days)),
        Axis("latency", "us", least=middle - tall / 2.0, most=middle + tall / 2.0),
        (*levels, measured),
        changes,
    )


def _mark(place: int, point: Point) -> Mark:
    described = (
        f"{point.run.path} of {point.run.created_at_utc}: {text.latency(point.value_us)}"
        f" ({text.interval(point.low_us, point.high_us)})"
    )
    has_interval = (
        point.low_us is not None
        and point.high_us is not None
        and not text.is_too_noisy(point.low_us, point.high_us)
    )
    low, high = (point.low_us, point.high_us) if has_interval else (None, None)
    return Mark(float(place), point.value_us, described, low, high)
