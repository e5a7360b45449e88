"""All that can be wrong with a plan once its cases are known, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.plan.baseline import refuse_useless
from app.plan.cold_start import refuse_cold_start
from app.plan.conditions import refuse_impossible
from app.plan.load import refuse_too_rare
from app.plan.null import refuse_open_loop
from app.plan.plan import Plan


def refuse_cases(plan: Plan, cases: Sequence[Case]) -> None:
    """PlanError for the first of them."""
    refuse_cold_start(plan)
    if plan.null:
        refuse_open_loop(cases)
    refuse_impossible(plan, cases)
    refuse_too_rare(plan, cases)
    refuse_useless(plan, cases)
