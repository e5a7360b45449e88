"""Latency over idle time: what a plan takes for a curve of it."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.plan.plan import Plan

LEAST_GAPS = 3
"""Two gaps are a comparison and no curve."""


def refuse_without_gaps(plan: Plan) -> None:
    """PlanError for a plan of which no curve over gaps can come."""
    paced = ({t for t in sweep.scenarios if t.startswith("paced")} for sweep in plan.sweeps)
    if max(map(len, paced)) < LEAST_GAPS:
        raise PlanError(
            "--plot draws latency over pauses, and the plan has fewer than three",
            "add --idle-sweep 20us..1s, or remove --plot",
        )
