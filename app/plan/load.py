"""Scenarios whose requests come so rarely that a round would have next to none of them."""

from __future__ import annotations

from collections.abc import Iterable

from app.cases.case import Case
from app.cases.errors import PlanError
from app.machine.available import clock_of
from app.plan.plan import Plan

LEAST_REQUESTS = 10
"""A round has to have so many: the first do not count, and a median takes six."""


def refuse_too_rare(plan: Plan, cases: Iterable[Case]) -> None:
    """PlanError for an open loop that brings too few requests; a simulated one has its own time."""
    most_s = plan.lengths.limits.max_s
    for case in cases:
        scenario = case.scenario
        if not scenario.is_open_loop or clock_of(case.runtime) == "simulated":
            continue
        brought = scenario.arrivals_hz * most_s
        if brought < LEAST_REQUESTS:
            raise PlanError(
                f"{scenario} brings {brought:.3g} requests in the {most_s:g} s that a round lasts "
                f"at most, and it takes {LEAST_REQUESTS}",
                f"use at least {LEAST_REQUESTS / most_s:.3g}/s, or a longer --preset",
            )
