"""The editor's state: a plan that may still lack something, so that a form can be empty.

A draft is a `Plan` whose values nobody has checked yet. Undo is keeping the drafts that were.
"""

from __future__ import annotations

from app.plan.plan import Plan, Sweep, parse_plan

EMPTY_GRID = Sweep.model_construct(models=())
EMPTY = Plan.model_construct(sweeps=(EMPTY_GRID,))


def with_grid(draft: Plan, index: int, grid: Sweep) -> Plan:
    """The draft with one grid replaced."""
    sweeps = (*draft.sweeps[:index], grid, *draft.sweeps[index + 1 :])
    return draft.model_copy(update={"sweeps": sweeps})


def checked(draft: Plan) -> Plan:
    """The validated plan; PlanError says what is missing or wrong."""
    return parse_plan(draft.model_dump(warnings=False), "plan")
