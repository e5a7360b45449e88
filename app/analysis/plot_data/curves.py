"""Curves of latency over the gap between runs or over the rate of requests.

Points of one curve share all else: model, runtime, sizes, options, kind of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

from app.analysis.comparison.measured_case import Key, names, runtime_label
from app.analysis.plot_data.series import Series, number
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.dimensions import matching_key, without
from app.cases.scenario import CLOSED_LOOP, FORMS, Scenario, ScenarioKind
from app.formatting.case_labels import differences
from app.plan.expand import MINIMUM_GAPS
from app.stats.open_loop import knee

_MATCHING_OVER_GAPS = without("scenario")
"""Rows of one curve are paced or back to back, and share everything else."""


@dataclass(frozen=True, slots=True)
class GapPoint:
    """Latencies after pauses of so long, 0 for a closed loop; None where there is no figure."""

    gap_us: float
    p50_us: float | None
    p99_us: float | None


@dataclass(frozen=True, slots=True)
class GapCurve:
    """`of` is a runtime with its options; the points ascend by their gap."""

    label: str
    points: tuple[GapPoint, ...]


@dataclass(frozen=True, slots=True)
class Idleness:
    """The curves of one model and sizes; `what` tells them from others of the run."""

    label: str
    curves: tuple[GapCurve, ...]

    @property
    def gaps_us(self) -> tuple[float, ...]:
        """Those of all curves, ascending."""
        return tuple(sorted({point.gap_us for curve in self.curves for point in curve.points}))


def idleness(rows: Iterable[Row]) -> list[Idleness]:
    """Of each model and sizes that was timed after at least three gaps, in the plan's order."""
    groups: dict[Key, dict[str, list[GapPoint]]] = {}
    for row in rows:
        if row["scenario"] in ("paced", "closed_loop") and row["latency_p50_us"] is not None:
            key = matching_key(row, _MATCHING_OVER_GAPS)
            groups.setdefault(key, {}).setdefault(runtime_label(row), []).append(_point(row))
    complete = {key: curves for key, curves in groups.items() if _gaps(curves) >= MINIMUM_GAPS}
    labels = names(list(complete), _MATCHING_OVER_GAPS)
    return [Idleness(labels[key], _curves(curves)) for key, curves in complete.items()]


def _gaps(points_by_label: Mapping[str, Sequence[GapPoint]]) -> int:
    """How many pauses there are, a closed loop not counted."""
    return len({point.gap_us for points in points_by_label.values() for point in points} - {0.0})


def _curves(points_by_label: Mapping[str, Sequence[GapPoint]]) -> tuple[GapCurve, ...]:
    return tuple(
        GapCurve(name, tuple(sorted(points, key=lambda point: point.gap_us)))
        for name, points in points_by_label.items()
    )


def _point(row: Row) -> GapPoint:
    p50_us, p99_us = number_of(row["latency_p50_us"]), number_of(row["latency_p99_us"])
    return GapPoint(number_of(row["gap_us"]) or 0.0, p50_us, p99_us)


Quantity = Literal["rate", "gap"]
FEWEST = 3
"""Cases that make a curve: two are a line, whatever lies between them."""
PERCENTILES = ("p50", "p99")
_QUANTITIES: dict[ScenarioKind, Quantity] = {
    kind: quantity
    for kind, form in FORMS.items()
    for quantity in get_args(Quantity)
    if f"{{{quantity}}}" in form.figures
}


class RateFound(Protocol):
    """What a search for a rate has come to: its target, `latency` at most `limit_us`, and the rate
    that keeps it, None where there is none yet."""

    @property
    def latency(self) -> str: ...
    @property
    def limit_us(self) -> float: ...
    @property
    def sentence(self) -> str: ...
    @property
    def low_hz(self) -> float | None: ...


def rate_found(series: Series) -> RateFound | None:
    """What the search has come to that the case is a rate of; None of a rate that was chosen."""
    found: RateFound | None = series.found.get("slo")
    return found


@dataclass(frozen=True, slots=True)
class Curve:
    """Cases by rising gap or rate; `name` tells the curve from the others of its model."""

    model: str
    name: str
    quantity: Quantity
    cases: tuple[Series, ...]

    def places(self) -> list[float]:
        """The gaps in microseconds, or the rates in runs due a second."""
        return [load_of(case_series.case.scenario) for case_series in self.cases]

    def found(self) -> RateFound | None:
        """The search that has come to these rates; None where they were chosen."""
        return next(filter(None, map(rate_found, self.cases)), None)

    def knee_hz(self) -> float | None:
        """The rate beyond which the median grows faster than what is served; None while nothing
        beyond it was measured."""
        if self.quantity != "rate":
            return None
        pairs = zip(self.places(), self.cases, strict=True)
        points = [(rate, p50) for rate, c in pairs if (p50 := number(c, "latency_p50_us"))]
        knee_rate = knee(points)
        if knee_rate is None or knee_rate >= max(rate for rate, _ in points):
            return None
        return knee_rate


def load_of(scenario: Scenario) -> float:
    """Where a case lies: its gap in microseconds, or its rate."""
    return scenario.gap_us or scenario.rate_hz


def curves(series: Sequence[Series]) -> list[Curve]:
    """Of at least three cases with figures each; one that broke its own protocol is among them."""
    groups: dict[tuple[str, ScenarioKind], list[Series]] = {}
    for case_series in series:
        scenario = case_series.case.scenario
        has_figures = any(number(case_series, f"latency_{name}_us") for name in PERCENTILES)
        has_load = scenario.kind in _QUANTITIES and load_of(scenario) > 0
        if has_load and has_figures and case_series.status == "ok":
            key = (_without_load(case_series.case).case_id, scenario.kind)
            groups.setdefault(key, []).append(case_series)
    complete = {key: cases for key, cases in groups.items() if len(cases) >= FEWEST}
    details = differences([_without_load(cases[0].case) for cases in complete.values()])
    kinds = {kind for _, kind in complete if _QUANTITIES[kind] == "rate"}
    result = []
    for (rest, kind), cases in complete.items():
        words = [cases[0].runtime, *details[rest]]
        if len(kinds) > 1 and kind in kinds:
            words.append(kind)
        sorted_cases = sorted(cases, key=lambda case_series: load_of(case_series.case.scenario))
        result.append(
            Curve(cases[0].model, " ".join(words), _QUANTITIES[kind], tuple(sorted_cases))
        )
    return result


def _without_load(case: Case) -> Case:
    return replace(case, scenario=CLOSED_LOOP)
