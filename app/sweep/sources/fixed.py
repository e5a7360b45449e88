"""The source of a plan's grid: exports first, then rounds in a seeded random order.

Pass by pass: one round of each case, in a fresh shuffle of all cases, so that drift of the machine
does not follow the variable. Where the rounds of a case are to be spread over a least time, passes
wait for each other. A case that failed, or has enough, gets no further rounds.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import ENDED, Status
from app.sweep.sources.conditions import limits_under
from app.sweep.sources.enough import Enough
from app.sweep.sources.exports import Exports
from app.sweep.sources.opening import Opening, opening_of
from app.sweep.sources.rounds import (
    ROUND_OVERHEAD_S,
    Schedule,
    refused_without_model,
    round_work,
    settled,
)
from app.sweep.sources.spread import LEAST_WAIT_S
from app.sweep.sources.tally import Tally
from app.sweep.work.base import Work
from app.sweep.work.round import RoundWork, SettledRound
from app.sweep.work.wait import WaitWork
from exporters.types import Precision


@dataclass(slots=True)
class FixedSweep:
    """`done` maps a case's id to the statuses of the rounds that are already recorded."""

    schedule: Schedule
    done: Mapping[str, Mapping[int, Status]]
    enough: Enough
    _exports: Exports = field(init=False)
    _tally: Tally = field(default_factory=Tally)
    _open: dict[str, Case] = field(default_factory=dict)
    _refused: deque[tuple[Case, Status, str]] = field(default_factory=deque)
    _rounds: deque[tuple[Case, int]] = field(default_factory=deque)
    _next_number: int = 0
    _measuring: int = 0
    _handed_out_s: float = 0.0
    _waiting: WaitWork | None = None
    _begun_pass: int = -1
    _opening: Opening | None = None

    def __post_init__(self) -> None:
        schedule = self.schedule
        self._exports = Exports(schedule)
        for case in schedule.cases:
            known = self.done.get(case.case_id, {})
            ended = not ENDED.isdisjoint(known.values())
            self._tally.add(case.case_id, self.enough.wanted(case), known, ended)
        self._open = {case.case_id: case for case in schedule.cases if self.rounds_left(case)}
        refusals: dict[tuple[str, Precision], tuple[Status, str] | None] = {}
        for case in self._open.values():
            asked = case.runtime, case.precision
            if asked not in refusals:
                refusals[asked] = refused_without_model(schedule, case)
            if (refusal := refusals[asked]) is not None:
                self._refused.append((case, *refusal))
                self._tally.end(case.case_id)
        left = [c for c in self._open.values() if self.rounds_left(c)]
        self._exports.queue(left)
        if not any(self.done.values()):  # a run that goes on has most of it in the cache
            self._opening = opening_of(schedule, left)

    def next(self, finished: Sequence[Work]) -> Work | None:
        opening = self._opening
        for work in finished:
            if opening is not None:
                opening.take(work)
            self._exports.take(work)
            if isinstance(work, RoundWork) and work.result is None:
                self._measuring -= 1  # an opening that was dropped
            if isinstance(work, WaitWork):
                self._waiting = None
                if not work.was_interrupted and self._rounds:
                    self._begun_pass = self._rounds[0][1]
            if isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
                if isinstance(work, RoundWork):
                    self._measuring -= 1
                    seconds = time.monotonic() - self._handed_out_s
                    self.schedule.budget.learn(work.result.case_id, seconds)
        if self._refused:
            case, status, reason = self._refused.popleft()
            number = self._tally.first_missing(case.case_id)
            return settled(self.schedule, case, number, status, reason)
        if opening is not None:
            known = self._exports.of(opening.case)
            opening.check(known[0] if known else None)
            if (first := opening.next()) is not None:
                self._measuring += isinstance(first, RoundWork)
                self._handed_out_s = time.monotonic()
                return first
            if opening.waits:
                return None
        if (export := self._exports.next()) is not None:
            return export
        if self._exports.in_flight:
            return None
        if self._waiting is not None:
            return None
        while self._rounds or self._queue_rounds():
            if (wait := self._wait()) is not None:
                self._waiting = wait
                return wait
            case, number = self._rounds.popleft()
            known = self._exports.of(case)
            if self._tally.has_ended(case.case_id) or known is None:
                continue
            reply, beside = known
            work = round_work(self.schedule, case, number, reply, beside=beside)
            if isinstance(work, SettledRound):
                self._tally.end(case.case_id)
            elif not self.schedule.budget.round_fits(case.case_id, self._guess_s(case)):
                continue
            else:
                self._measuring += 1
            self._handed_out_s = time.monotonic()
            return work
        return None

    def rounds_left(self, case: Case) -> int:
        """How many processes this case still needs; 0 once it has failed."""
        return self._tally.left_of(case.case_id)

    def wanted(self, case: Case) -> int:
        """How many rounds the case is to have, as far as is known now."""
        return self._tally.wanted_of(case.case_id)

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return self._exports.left

    def all_rounds_left(self) -> int:
        """How many rounds of all cases are still to be measured."""
        return self._tally.left

    def rounds_total(self, recorded: int) -> int:
        """How many rounds the cases are to have, as far as is known; `recorded` are on disk."""
        return self._tally.wanted

    def _guess_s(self, case: Case) -> float:
        """How long a round takes of which nothing is known."""
        limits = limits_under(case.condition, self.schedule.limits)
        return limits.min_s + ROUND_OVERHEAD_S

    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""
        if not self._tally.take(result.case_id, result.round):
            return
        if result.status in ENDED:
            self._tally.end(result.case_id)
        else:
            self._tally.want(result.case_id, self.enough.wanted(self._open[result.case_id]))

    @property
    def spread_left_s(self) -> float:
        """How long the rounds that are left take at least, because they are spread."""
        following = self._rounds[0][1] if self._rounds else self._next_number
        return self.schedule.spread.left_s(following) if self.all_rounds_left() else 0.0

    def _wait(self) -> WaitWork | None:
        """The wait before the pass that is queued; None if it may begin, or has begun."""
        case, number = self._rounds[0]
        if number == self._begun_pass:
            return None
        spare_s = self.schedule.budget.spare_s(self._tally.left, self._guess_s(case))
        seconds = self.schedule.spread.wait_s(number, spare_s)
        if seconds >= LEAST_WAIT_S:
            return WaitWork(time.monotonic() + seconds)
        self._begun_pass = number
        return None

    def _queue_rounds(self) -> bool:
        """Queue the next round of all that want it, once all rounds before it have ended."""
        while not self._rounds and not self._measuring and self._next_number < self.schedule.rounds:
            number, self._next_number = self._next_number, self._next_number + 1
            order = list(self._open.values())  # so that it does not depend on which have ended
            random.Random(f"{self.schedule.seed}:{number}").shuffle(order)
            self._rounds.extend((c, number) for c in order if self._tally.lacks(c.case_id, number))
        return bool(self._rounds)
