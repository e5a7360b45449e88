"""What a run within a budget did not come to, in one sentence; nothing where it came to all."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.status import ENDED
from app.results import text
from app.results.plain import printable
from app.results.run import Run


def left_out(run: Run) -> Iterator[str]:
    """A line, or none."""
    budget_s = run.manifest.asked.budget_s
    if budget_s is None:
        return
    planned = run.manifest.rounds
    rounds = [
        [result for result in run.rounds_of(case) if result.status != "cancelled"]
        for case in run.cases
    ]
    open_rounds = [of for of in rounds if ENDED.isdisjoint(result.status for result in of)]
    missing = sum(planned - len(of) for of in open_rounds)
    if missing > 0:
        untouched = sum(not of for of in open_rounds)
        cases = f", and {untouched} of {len(rounds)} cases altogether" if untouched else ""
        yield printable(
            f"the budget of {text.duration(budget_s)} left out {missing} of "
            f"{planned * len(rounds)} rounds{cases}: graphlap --resume {run.path}"
        )
