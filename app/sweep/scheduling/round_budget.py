"""Number and times of rounds: round counts, stopping rule, time budget, spread over time,
and the cases that are set aside where a budget is too small for all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from app.analysis.columns.environment import is_contended
from app.analysis.columns.precision import look_text, target_rounds
from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.units import duration_text
from app.machine.installed_runtimes import runtime
from app.run_folder.run import Run
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.required_rounds import StoppingRule
from runtimes.registry import parse_spec


class Tally:
    """`planned` and `remaining` are of all cases: the rounds that they are to have, and that they
    lack.

    A case that has ended lacks none.
    """

    def __init__(self) -> None:
        self.planned = self.remaining = 0
        self._planned_rounds: dict[str, int] = {}
        self._recorded_rounds: dict[str, set[int]] = {}
        self._finished_ids: set[str] = set()

    def add(
        self, case_id: str, rounds: int, recorded_numbers: Iterable[int], is_finished: bool
    ) -> None:
        """A case that is to have so many rounds, numbered from 0; each is added once."""
        numbers = set(recorded_numbers)
        if numbers:
            self._recorded_rounds[case_id] = numbers
        if is_finished:
            self._finished_ids.add(case_id)
        self._planned_rounds[case_id] = rounds
        self.planned += rounds
        self.remaining += self.remaining_of(case_id)

    def recorded_of(self, case_id: str) -> tuple[int, ...]:
        """The numbers of the rounds that the case has, ascending."""
        return tuple(sorted(self._recorded_rounds.get(case_id, ())))

    def planned_of(self, case_id: str) -> int:
        return self._planned_rounds[case_id]

    def remaining_of(self, case_id: str) -> int:
        """How many rounds the case still lacks."""
        if case_id in self._finished_ids:
            return 0
        planned_rounds = self._planned_rounds[case_id]
        return planned_rounds - sum(
            number < planned_rounds for number in self._recorded_rounds.get(case_id, ())
        )

    def first_missing(self, case_id: str) -> int:
        """The number of the first round that the case has not."""
        recorded_numbers = self._recorded_rounds.get(case_id, ())
        return next(number for number in count() if number not in recorded_numbers)

    def lacks(self, case_id: str, number: int) -> bool:
        """Whether the case still lacks this round."""
        if case_id in self._finished_ids or number >= self._planned_rounds[case_id]:
            return False
        return number not in self._recorded_rounds.get(case_id, ())

    def has_ended(self, case_id: str) -> bool:
        return case_id in self._finished_ids

    def end(self, case_id: str) -> None:
        """The case gets no more rounds."""
        self.remaining -= self.remaining_of(case_id)
        self._finished_ids.add(case_id)

    def take(self, case_id: str, number: int) -> bool:
        """The case has this round now; False if that was known."""
        recorded_numbers = self._recorded_rounds.setdefault(case_id, set())
        if number in recorded_numbers:
            return False
        previous = self.remaining_of(case_id)
        recorded_numbers.add(number)
        self.remaining += self.remaining_of(case_id) - previous
        return True

    def void(self, case_id: str) -> None:
        """None of the rounds that the case has had counts any more."""
        previous = self.remaining_of(case_id)
        self._recorded_rounds.pop(case_id, None)
        self.remaining += self.remaining_of(case_id) - previous

    def want(self, case_id: str, rounds: int) -> None:
        """The case is to have so many rounds in all."""
        previous = self.remaining_of(case_id)
        self.planned += rounds - self._planned_rounds[case_id]
        self._planned_rounds[case_id] = rounds
        self.remaining += self.remaining_of(case_id) - previous


MINIMUM_WAIT_S = 0.05
"""Less is not waited for."""


class Spread:
    """The first of `passes` begins at once and the last no sooner than `seconds` later, the others
    at even distances; what takes longer than its distance is not waited for.

    Where the rounds of a case show other work that takes the core, the last pass begins no sooner
    than `contended_s` after the first: how much such work takes changes over minutes. The passes
    that follow then have even distances, and passes beyond `passes` the former one again.
    """

    def __init__(
        self,
        seconds: float = 0.0,
        passes: int = 1,
        contended_s: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._seconds, self._contended_s = seconds, contended_s
        self._passes, self._clock = passes, clock or time.monotonic
        self._usual_gap_s = self._gap_s = seconds / (passes - 1) if passes > 1 else 0.0
        self._first: int | None = None
        self._start_s = 0.0
        self._rounds: dict[str, list[RoundResult]] = {}
        self.is_stretched = False

    @property
    def reason(self) -> str:
        """Why passes wait."""
        if self.is_stretched:
            longest = duration_text(self._contended_s)
            return f"other work takes the core, rounds are spread over up to {longest} (--spread)"
        return "rounds are spread over time (--spread)"

    def take(self, result: RoundResult) -> None:
        """Look for other work in a round that ended."""
        if self.is_stretched or self._contended_s <= self._seconds:
            return
        rounds = self._rounds.setdefault(result.case_id, [])
        rounds.append(result)
        if is_contended(rounds):
            self._stretch(result.round)

    def _stretch(self, number: int) -> None:
        """Spread the passes after this one over what is left of `contended_s`."""
        following = self._passes - 1 - number
        if following < 1:
            return
        gap_s, now_s = self._contended_s / (self._passes - 1), self._clock()
        first = number if self._first is None else self._first
        end_s = self.due_s(first) + gap_s * (self._passes - 1 - first)
        self._first, self._start_s = number, now_s
        self._gap_s = max(0.0, end_s - now_s) / following
        self.is_stretched = True
        self._rounds.clear()

    def due_s(self, number: int) -> float:
        """When the pass of this number may begin, by the clock; the first that is asked for, which
        is not pass 0 of a run that is resumed, may now."""
        if self._first is None:
            self._first, self._start_s = number, self._clock()
        last = max(self._passes - 1, self._first)
        distances = min(number, last) - self._first
        return self._start_s + self._gap_s * distances + self._usual_gap_s * max(0, number - last)

    def left_s(self, number: int) -> float:
        """How long it is at least until the last pass begins, with pass `number` the next."""
        if not self._gap_s or number >= self._passes:
            return 0.0
        if self._first is None:
            return self._gap_s * (self._passes - 1 - number)
        return max(0.0, self.due_s(self._passes - 1) - self._clock())

    def wait_s(self, number: int, spare_s: float) -> float:
        """How long to wait before this pass; of the time that a budget leaves to spare each of the
        distances that follow has an even part."""
        wait_s = self.due_s(number) - self._clock()
        distances = max(1, self._passes - number)
        return max(0.0, min(wait_s, spare_s / distances))


EXPORT_SHARE = 0.5
"""Exports that are not begun in this part of the budget are left out, so that rounds are had."""


SLOW_ROUND = 1.5
"""A round during other work takes so many times as long as usual."""


AFTER_SHARE = 0.25
"""So much of the budget is kept at most for what comes after the rounds."""


class Budget:
    """Begins at `start_s` (monotonic seconds), or when it is made. What is in flight when it ends
    may end; nothing is begun that is likely to end later."""

    def __init__(self, seconds: float = math.inf, start_s: float | None = None) -> None:
        self._start_s = time.monotonic() if start_s is None else start_s
        self._seconds = seconds
        self._case_seconds: dict[str, float] = {}
        self._sum_s = 0.0
        self._reserved_s = 0.0

    def reserve(self, seconds: float) -> None:
        """Leave so long to what comes after the rounds, `AFTER_SHARE` of the whole at most."""
        self._reserved_s = min(seconds, AFTER_SHARE * self._seconds)

    @property
    def is_bounded(self) -> bool:
        return self._seconds < math.inf

    @property
    def ends_s(self) -> float:
        """When it is over (monotonic seconds)."""
        return self._start_s + self._seconds

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self._start_s

    @property
    def left_s(self) -> float:
        return max(0.0, self.ends_s - time.monotonic())

    @property
    def export_fits(self) -> bool:
        """Whether an export may begin now."""
        return not self.is_bounded or self.left_s > (1.0 - EXPORT_SHARE) * self._seconds

    def fit(self, guesses_s: Mapping[str, float]) -> bool:
        """Whether rounds of these cases, one of each, would end in time."""
        return sum(self.expected_s(*guess) for guess in guesses_s.items()) <= self.rounds_s

    def expected_s(self, case_id: str, guess_s: float) -> float:
        """How long the next round of this case takes: as its longest, others' on average, a
        guess."""
        return self._case_seconds.get(case_id, self._usual_s(guess_s))

    def _usual_s(self, guess_s: float) -> float:
        return self._sum_s / len(self._case_seconds) if self._case_seconds else guess_s

    @property
    def rounds_s(self) -> float:
        """What is left for rounds."""
        return max(0.0, self.left_s - self._reserved_s)

    def spare_s(self, rounds: int, guess_s: float) -> float:
        """What is left after this number of rounds, each half as long again as they usually are:
        a wait must not use the time of a round that turns out slow."""
        return max(0.0, self.rounds_s - rounds * self._usual_s(guess_s) * SLOW_ROUND)

    def learn(self, case_id: str, seconds: float) -> None:
        """A round of this case took so long."""
        before_s = self._case_seconds.get(case_id, 0.0)
        self._case_seconds[case_id] = max(before_s, seconds)
        self._sum_s += self._case_seconds[case_id] - before_s


class RoundPolicy(Protocol):
    """Asked of each case when the sweep begins and after each of its rounds."""

    def planned_rounds(self, case: Case) -> int:
        """How many rounds the case is to have in all, as far as is known now."""

    def revised_by(self, case: Case) -> Iterable[Case]:
        """The cases whose planned rounds may have changed after a round of this one."""

    def look(self, case: Case) -> str:
        """What a look after the last round of the case found; "" without one."""


@dataclass(frozen=True, slots=True)
class FixedRounds:
    """As many for each case."""

    rounds: int

    def planned_rounds(self, case: Case) -> int:
        return self.rounds

    def revised_by(self, case: Case) -> Iterable[Case]:
        return ()

    def look(self, case: Case) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class PreciseRounds:
    """Until the intervals are narrow. A look reads the samples of one case, between rounds."""

    rule: StoppingRule
    run: Run
    rows: Rows

    def planned_rounds(self, case: Case) -> int:
        rounds = [r for r in self.run.rounds_of(case) if not r.is_tried_again]
        is_due = len(rounds) in self.rule.looks
        return target_rounds(
            self.rule, rounds, self.rows.summary(self.run, case) if is_due else None
        )

    def revised_by(self, case: Case) -> Iterable[Case]:
        return (case,)

    def look(self, case: Case) -> str:
        rounds = self.run.rounds_of(case)
        summary = self.rows.summary(self.run, case) if len(rounds) in self.rule.looks else None
        return "" if summary is None else look_text(self.rule, rounds, summary)


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
        self._active = list(self.groups)
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
        if any(self._seconds(group, SUFFICIENT_ROUNDS) for group in self._active):
            return False
        back = next(
            (g for g in self._aside if self._seconds(g, MINIMUM_ROUNDS) <= self.budget.rounds_s),
            None,
        )
        if back is None:
            return False
        self._aside.remove(back)
        self._active.append(back)
        return True

    def _set_aside(self, rounds: int) -> None:
        """Set aside the last ones until all others can have so many rounds."""
        while len(self._active) > 1:
            seconds = [self._seconds(group, rounds) for group in self._active]
            if sum(seconds) <= self.budget.rounds_s:
                return
            places = [place for place, time_s in enumerate(seconds) if time_s]
            victim = max(places, key=lambda p: (len(self._active[p]) == 1, seconds[p], p))
            self._aside.insert(0, self._active.pop(victim))

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
