"""What a run within a budget did not come to, in one sentence; nothing where it came to all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.cases.case import Case
from app.cases.status import ENDED
from app.plan.shell import shell_line
from app.results import text
from app.results.run import Run


def left_out(run: Run, wanted: Callable[[Case], int]) -> Iterator[str]:
    """A line, or none; `wanted` is how many rounds a case was to have, as far as was known."""
    asked = run.manifest.asked
    budget_s = asked.budget_s
    if budget_s is None or asked.slo or asked.tune:  # whose own sentences say how far they came
        return
    had = [
        (case, [result.status for result in run.rounds_of(case) if result.status != "cancelled"])
        for case in run.cases
    ]
    open_cases = [(case, of) for case, of in had if ENDED.isdisjoint(of)]
    missing = sum(wanted(case) - len(of) for case, of in open_cases)
    if missing > 0:
        untouched = sum(not of for _, of in open_cases)
        cases = f", and {untouched} of {len(had)} cases altogether" if untouched else ""
        yield (
            f"the budget of {text.duration(budget_s)} left out {missing} of "
            f"{sum(map(wanted, run.cases))} rounds{cases}: "
            f"{shell_line(['graphlap', '--resume', str(run.path)])}"
        )
