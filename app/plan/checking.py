"""What a check takes of a plan, and what can't be asked together with one.

A check compiles every case and runs none: of a plan that was made to measure it takes what the
cases are, and leaves out how and how long they would be measured.
"""

from __future__ import annotations

from typing import Any

from app.cases.errors import PlanError
from app.plan.plan import Plan, Sweep
from app.plan.settings.table import accepted_by

_COMPILED = frozenset(row.key for row in accepted_by("check")) | {"name", "sweeps"}
"""The keys that a check reads, of the plan and of its grids."""


def of_a_check(data: dict[str, Any]) -> dict[str, Any]:
    """Of a suite's or a plan's values those that a check takes."""
    kept = {key: value for key, value in data.items() if key in _COMPILED}
    grids = [{k: v for k, v in grid.items() if k in _COMPILED} for grid in data["sweeps"]]
    return {**kept, "sweeps": grids}


def refuse_beside_check(plan: Plan) -> None:
    """PlanError for a check that is told how to measure."""
    if not plan.check:
        return
    grids = [key for sweep in plan.sweeps for key in _told(sweep) if key not in _COMPILED]
    for key in [*grids, *(key for key in _told(plan) if key not in _COMPILED)]:
        raise PlanError(
            f"a check compiles and runs nothing, so {key} means nothing to it",
            f"leave {key} out, or check",
        )


def _told(part: Plan | Sweep) -> list[str]:
    """The keys that are not at their defaults."""
    fields = type(part).model_fields
    return [
        key
        for key, field in fields.items()
        if getattr(part, key) != field.get_default(call_default_factory=True)
    ]
