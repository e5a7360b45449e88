"""How many rounds a run within a budget did not measure."""

from __future__ import annotations

from collections.abc import Callable

from app.cases.case import Case
from app.cases.status import ENDED
from app.results.run import Run


def rounds_left_out(run: Run, wanted: Callable[[Case], int]) -> int:
    """How many; `wanted` is how many rounds a case was to have, as far as was known."""
    asked = run.manifest.asked
    budget_s = asked.budget_s
    if budget_s is None or asked.slo or asked.tune:  # whose own sentences say how far they came
        return 0
    had = [
        (case, [result.status for result in run.rounds_of(case) if result.status != "cancelled"])
        for case in run.cases
    ]
    return max(0, sum(wanted(case) - len(of) for case, of in had if ENDED.isdisjoint(of)))
