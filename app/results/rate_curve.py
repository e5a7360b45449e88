"""The latency over the rate, as the steps of a search found it: rows for a file and a plot."""

from __future__ import annotations

from app.cases.column import Row
from app.cases.target import Target
from app.results.rate_search import Point, Searched
from app.results.table import to_csv
from app.stats.capacity import knee
from app.stats.judging import figure_us, interval, late_share

RATES = "rates.csv"
COLUMNS = (
    "case_id",
    "subject",
    "offered_rate_hz",
    "latency",
    "value_us",
    "deadline_miss_rate",
    "ci_low",
    "ci_high",
    "rounds",
    "requests",
    "verdict",
    "knee",
)


def curve_rows(subject: str, searched: Searched, target: Target) -> list[Row]:
    """A row for each rate, the lowest first, after that of the closed loop, which has none.

    `latency` says what `value_us` is: `p99` or `mean`. `ci_low` and `ci_high` are of the share of
    late requests, of a mean in microseconds. `knee` marks one row.
    """
    bend = knee_hz(searched)
    return [_row(subject, point, target, bend) for point in searched.measured]


def knee_hz(searched: Searched) -> float | None:
    """The rate of the curve's knee; None of fewer than three rates, or with none beyond it."""
    known = [(point.rate_hz, figure_us(point.rounds)) for point in searched.points]
    curve = [(hz, us) for hz, us in known if hz is not None and us is not None]
    bend = knee(curve) if len(curve) > 2 else None
    return None if curve and bend == curve[-1][0] else bend


def as_csv(rows: list[Row]) -> bytes:
    return to_csv(rows, COLUMNS)


def _row(subject: str, point: Point, target: Target, bend: float | None) -> Row:
    found = interval(point.rounds, target)
    return {
        "case_id": point.case.case_id,
        "subject": subject,
        "offered_rate_hz": point.rate_hz,
        "latency": target.name,
        "value_us": figure_us(point.rounds),
        "deadline_miss_rate": late_share(point.rounds),
        "ci_low": None if found is None else found.low,
        "ci_high": None if found is None else found.high,
        "rounds": len(point.rounds),
        "requests": sum(one.requests for one in point.rounds),
        "verdict": point.verdict,
        "knee": point.rate_hz is not None and point.rate_hz == bend,
    }
