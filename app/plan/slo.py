"""What a search for the highest rate can't be asked together with, and how many rounds it has."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.cases.target import LEAST_ROUNDS
from app.plan.plan import Plan

_OTHER_RUNS = ("aa", "baseline", "largest_batch", "precise")


def refuse_beside_slo(plan: Plan) -> None:
    """PlanError for a plan whose search would come to nothing, or for two runs at once."""
    if not plan.slo:
        return
    for name in _OTHER_RUNS:
        if getattr(plan, name):
            raise PlanError(f"slo and {name} ask for different runs", "give one of them")
    for sweep in plan.sweeps:
        if sweep.scenarios != ("closed_loop",):
            raise PlanError(
                f"slo chooses its own rates, and the plan asks for {', '.join(sweep.scenarios)}",
                "leave --scenario out",
            )
    if plan.rounds is not None and plan.rounds < LEAST_ROUNDS:
        raise PlanError(
            f"slo judges a rate by its rounds, and {plan.rounds} have no interval",
            f"give --rounds {LEAST_ROUNDS} or more, or none",
        )
