"""What a check takes of a plan, and what can't be asked together with one.

A check compiles every case and runs none: of a plan that was made to measure it takes what the
cases are, and leaves out how and how long they would be measured.
"""

from __future__ import annotations

from typing import Any

from app.cases.errors import PlanError
from app.plan.plan import Plan, Sweep

_OF_PLAN = frozenset(
    {
        "name",
        "seed",
        "check",
        "time_limit_s",
        "memory_limit",
        "weights",
        "inputs",
        "calibration",
        "from_nodes",
        "to_nodes",
        "states",
        "custom_ops",
        "environments",
        "sweeps",
    }
)
_OF_GRID = frozenset(
    {
        "models",
        "runtimes",
        "precisions",
        "batch_size",
        "sequence_length",
        "axes",
        "threads",
        "options",
    }
)


def of_a_check(data: dict[str, Any]) -> dict[str, Any]:
    """Of a suite's or a plan's values those that a check takes."""
    kept = {key: value for key, value in data.items() if key in _OF_PLAN}
    grids = [{k: v for k, v in grid.items() if k in _OF_GRID} for grid in data["sweeps"]]
    return {**kept, "sweeps": grids}


def refuse_beside_check(plan: Plan) -> None:
    """PlanError for a check that is told how to measure."""
    if not plan.check:
        return
    grids = [key for sweep in plan.sweeps for key in _told(sweep) if key not in _OF_GRID]
    for key in [*grids, *(key for key in _told(plan) if key not in _OF_PLAN)]:
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
