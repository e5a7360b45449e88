"""Conditions that a plan combines with what they can't hold beside."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.size import size_text
from app.plan.plan import Plan

COLD_SHARE = 0.25
"""A buffer that pollutes caches may take so much of this machine's memory."""
_BETWEEN_RUNS = ("closed_loop", "paced")


def refuse_impossible(plan: Plan, cases: Iterable[Case]) -> None:
    """PlanError for a condition that no case can be measured under."""
    most = int(psutil.virtual_memory().total * COLD_SHARE)
    for case in cases:
        condition, kind = case.condition, case.scenario.kind
        if condition.kind == "none":
            continue
        if plan.largest_batch:
            raise PlanError(
                f"a search for the largest batch is made under no condition, not {condition}",
                "leave --condition out",
            )
        if condition.kind == "cold" and kind not in _BETWEEN_RUNS:
            raise PlanError(
                f"{condition} takes time between two runs, and {kind} has none to give",
                f"use --scenario {' or '.join(_BETWEEN_RUNS)}",
            )
        if condition.bytes > most:
            raise PlanError(
                f"{condition} is more than a quarter of this machine's memory",
                f"use at most {size_text(most // 10**6 * 10**6)}",
            )
