"""Latency over the gap between requests: p50 and p99 of each runtime, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.present.figure import Axis, Figure, Mark, Series
from app.results import text
from app.results.gap_curves import GapCurve, GapPoint, Idleness

_PERCENTILES = (("p50", 0), ("p99", 1))
"""Each with its dashes."""


def gap_figures(found: Sequence[Idleness]) -> list[Figure]:
    """A figure for each model and sizes; a closed loop has no gap and no place in it."""
    return [
        Figure(
            f"Latency after a pause: {idle.what}",
            Axis("pause before a request", "us", "log"),
            Axis("latency", "us", "log"),
            tuple(_series(idle.curves)),
        )
        for idle in found
    ]


def _series(curves: Sequence[GapCurve]) -> Iterator[Series]:
    for color, curve in enumerate(curves):
        for name, dash in _PERCENTILES:
            marks = [
                Mark(point.gap_us, value, _described(curve, name, point.gap_us, value))
                for point in curve.points
                if point.gap_us and (value := _value(point, name))
            ]
            if marks:
                yield Series(f"{curve.of} {name}", tuple(marks), "line", color, dash)


def _value(point: GapPoint, name: str) -> float | None:
    return point.p50_us if name == "p50" else point.p99_us


def _described(curve: GapCurve, name: str, gap_us: float, value_us: float) -> str:
    return f"{curve.of}, {name} after {text.latency(gap_us)}: {text.latency(value_us)}"
