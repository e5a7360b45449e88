"""Selection of the cases that a time budget has room for, after each has had its first round.

Verdicts need rounds, so a budget that is too small for all cases is spent on some of them. Cases
that are compared with each other, such as one model on several runtimes, are selected together.
Those without a rival are set aside first, then the slowest, so that most comparisons get enough
rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.machine.installed_runtimes import runtime
from app.stats.intervals import MINIMUM_ROUNDS
from app.sweep.scheduling.round_budget import Budget, Tally
from runtimes.registry import parse_spec

SUFFICIENT_ROUNDS = 5
"""With so many rounds of each case, verdicts hold on a noisy machine too."""


def contests(cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Cases on one clock that differ by runtime, options, threads and host only, in the order of
    the plan."""
    members: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        common = replace(case, runtime="", options={}, threads=1, host="", suite="")
        clock = runtime(parse_spec(case.runtime).name).clock
        members.setdefault((common.case_id, clock), []).append(case)
    return [tuple(group) for group in members.values()]


@dataclass
class CaseSelection:
    """`renew` is called between passes; a case that is set aside gets no rounds until it is back.

    Before the second pass as many contests are selected as can have `SUFFICIENT_ROUNDS`, one at
    least. Later ones are set aside only if others would not have `MINIMUM_ROUNDS`. Once all that
    are selected have sufficient rounds, contests come back that can have `MINIMUM_ROUNDS`.
    """

    groups: Sequence[tuple[Case, ...]]
    tally: Tally
    budget: Budget
    guess_s: float

    def __post_init__(self) -> None:
        self._selected = list(self.groups)
        self._aside: list[tuple[Case, ...]] = []
        self._is_first = True

    def has(self, case: Case) -> bool:
        return not any(case in group for group in self._aside)

    def renew(self) -> bool:
        """Select anew; whether cases are back."""
        if self._is_first:
            if all(self._rounds_of(case) == 0 for group in self.groups for case in group):
                return False
            self._is_first = False
            self._set_aside(SUFFICIENT_ROUNDS)
        self._set_aside(MINIMUM_ROUNDS)
        if any(self._seconds(group, SUFFICIENT_ROUNDS) for group in self._selected):
            return False
        back = next(
            (g for g in self._aside if self._seconds(g, MINIMUM_ROUNDS) <= self.budget.rounds_s),
            None,
        )
        if back is None:
            return False
        self._aside.remove(back)
        self._selected.append(back)
        return True

    def _set_aside(self, rounds: int) -> None:
        """Set aside the last ones until all others can have so many rounds."""
        while len(self._selected) > 1:
            seconds = [self._seconds(group, rounds) for group in self._selected]
            if sum(seconds) <= self.budget.rounds_s:
                return
            places = [place for place, needed in enumerate(seconds) if needed]
            dropped = max(places, key=lambda p: (len(self._selected[p]) == 1, seconds[p], p))
            self._aside.insert(0, self._selected.pop(dropped))

    def _seconds(self, group: Sequence[Case], rounds: int) -> float:
        """How long the cases take until each has so many rounds, or all that it is to have."""
        return sum(
            self.budget.expected_s(case.case_id, self.guess_s)
            * max(0, min(rounds, self.tally.planned_of(case.case_id)) - self._rounds_of(case))
            for case in group
            if not self.tally.has_ended(case.case_id)
        )

    def _rounds_of(self, case: Case) -> int:
        return len(self.tally.recorded_of(case.case_id))
