"""Where the rounds of a case ran and what they had of the system, as they read it back."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.column import Row
from app.cases.round import RoundResult
from app.machine.cores import as_list
from app.results.cells import joined


def placing_columns(rounds: Sequence[RoundResult]) -> Row:
    """Of the rounds that were timed on this machine; what differed between them is told by each.

    Memory counts as locked if it was in every round.
    """
    around = [result.environment for result in rounds if result.samples]
    locked = [told.get("memory_locked") for told in around]
    return {
        "cores": joined(as_list(told.get("affinity", ())) for told in around),
        "numa_node": joined(as_list(told.get("numa_nodes", ())) for told in around),
        "memory_locked": None if not locked or None in locked else all(locked),
        "attempts": max((result.attempt for result in rounds if result.samples), default=None),
        "scheduler": joined(str(told.get("scheduler") or "") for told in around),
    }
