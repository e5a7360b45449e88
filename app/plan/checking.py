"""What a check takes of a plan.

A check compiles every case and runs none: of a plan that was made to measure it takes what the
cases are, and leaves out how and how long they would be measured.
"""

from __future__ import annotations

from typing import Any

from app.plan.settings.table import accepted_by

_COMPILED = frozenset(row.key for row in accepted_by("check")) | {"name", "sweeps"}
"""The keys that a check reads, of the plan and of its grids."""


def of_a_check(data: dict[str, Any]) -> dict[str, Any]:
    """Of a suite's or a plan's values those that a check takes."""
    kept = {key: value for key, value in data.items() if key in _COMPILED}
    grids = [{k: v for k, v in grid.items() if k in _COMPILED} for grid in data["sweeps"]]
    return {**kept, "sweeps": grids}
