"""Cases that differ in their gap or their rate alone, as curves of latency over it.

Knows no Qt. Points of one curve share all else: model, runtime, sizes, options, kind of arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.cases.case import Case
from app.cases.scenario import CLOSED_LOOP, Scenario, ScenarioKind
from app.results.figures import number
from app.results.labels import differences
from app.results.rates_found import RateAnswer
from app.results.series import Series
from app.stats.capacity import knee

Over = Literal["rate", "gap"]
FEWEST = 3
"""Cases that make a curve: two are a line, whatever lies between them."""
PERCENTILES = ("p50", "p99")
_OVER: dict[ScenarioKind, Over] = {"paced": "gap", "rate": "rate", "poisson": "rate"}


@dataclass(frozen=True, slots=True)
class Curve:
    """Cases by rising gap or rate; `name` tells the curve from the others of its model."""

    model: str
    name: str
    over: Over
    cases: tuple[Series, ...]

    def places(self) -> list[float]:
        """The gaps in microseconds, or the rates in runs due a second."""
        return [place(one.case.scenario) for one in self.cases]

    def sought(self) -> RateAnswer | None:
        """The search that has come to these rates; None where they were chosen."""
        return next((one.sought for one in self.cases if one.sought), None)

    def knee_hz(self) -> float | None:
        """The rate beyond which the median grows faster than what is served; None while nothing
        beyond it was measured."""
        if self.over != "rate":
            return None
        placed = zip(self.places(), self.cases, strict=True)
        known = [(at, p50) for at, one in placed if (p50 := number(one, "latency_p50_us"))]
        at = knee(known)
        return at if at is not None and at < max(rate for rate, _ in known) else None


def place(scenario: Scenario) -> float:
    """Where a case lies: its gap in microseconds, or its rate."""
    return scenario.gap_us if scenario.kind == "paced" else scenario.rate_hz


def curves(series: Sequence[Series]) -> list[Curve]:
    """Of at least three cases with figures each; one that broke its own protocol is among them."""
    groups: dict[tuple[str, ScenarioKind], list[Series]] = {}
    for one in series:
        kind = one.case.scenario.kind
        told = any(number(one, f"latency_{name}_us") for name in PERCENTILES)
        if kind in _OVER and place(one.case.scenario) > 0 and one.status == "ok" and told:
            groups.setdefault((_without_load(one.case).case_id, kind), []).append(one)
    kept = {key: cases for key, cases in groups.items() if len(cases) >= FEWEST}
    apart = differences([_without_load(cases[0].case) for cases in kept.values()])
    kinds = {kind for _, kind in kept}
    found = []
    for (rest, kind), cases in kept.items():
        words = [cases[0].runtime, *apart[rest]]
        if kinds >= {"rate", "poisson"} and kind != "paced":
            words.append(kind)
        ordered = sorted(cases, key=lambda one: place(one.case.scenario))
        found.append(Curve(cases[0].model, " ".join(words), _OVER[kind], tuple(ordered)))
    return found


def _without_load(case: Case) -> Case:
    return replace(case, scenario=CLOSED_LOOP)
