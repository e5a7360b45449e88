"""How latency grows with idleness: rows that differ in their gap alone, as curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.cases.column import Row, number_of
from app.plan.gaps import LEAST_GAPS
from app.results.alike import LIKE, Key, contender, names

_LIKE = tuple(name for name in LIKE if name not in ("scenario", "gap_us", "wait_policy"))


@dataclass(frozen=True, slots=True)
class GapPoint:
    """Latencies after pauses of so long, 0 for a closed loop; None where there is no figure."""

    gap_us: float
    p50_us: float | None
    p99_us: float | None


@dataclass(frozen=True, slots=True)
class GapCurve:
    """`of` is a runtime with its options; the points ascend by their gap."""

    of: str
    points: tuple[GapPoint, ...]


@dataclass(frozen=True, slots=True)
class Idleness:
    """The curves of one model and sizes; `what` tells them from others of the run."""

    what: str
    curves: tuple[GapCurve, ...]

    @property
    def gaps_us(self) -> tuple[float, ...]:
        """Those of all curves, ascending."""
        return tuple(sorted({point.gap_us for curve in self.curves for point in curve.points}))


def idleness(rows: Iterable[Row]) -> list[Idleness]:
    """Of each model and sizes that was timed after at least three gaps, in the plan's order."""
    found: dict[Key, dict[str, list[GapPoint]]] = {}
    for row in rows:
        if row["scenario"] in ("paced", "closed_loop") and row["latency_p50_us"] is not None:
            key = tuple(row[name] for name in _LIKE)
            found.setdefault(key, {}).setdefault(contender(row), []).append(_point(row))
    kept = {key: curves for key, curves in found.items() if _gaps(curves) >= LEAST_GAPS}
    called = names(list(kept), _LIKE)
    return [Idleness(called[key], _curves(curves)) for key, curves in kept.items()]


def _gaps(of: Mapping[str, Sequence[GapPoint]]) -> int:
    """How many pauses there are, a closed loop not counted."""
    return len({point.gap_us for points in of.values() for point in points} - {0.0})


def _curves(of: Mapping[str, Sequence[GapPoint]]) -> tuple[GapCurve, ...]:
    return tuple(
        GapCurve(name, tuple(sorted(points, key=lambda point: point.gap_us)))
        for name, points in of.items()
    )


def _point(row: Row) -> GapPoint:
    p50_us, p99_us = number_of(row["latency_p50_us"]), number_of(row["latency_p99_us"])
    return GapPoint(number_of(row["gap_us"]) or 0.0, p50_us, p99_us)
