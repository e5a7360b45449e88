"""The contract of a run's scheduler of rounds, and what those of a grid and of searches share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import TERMINAL, Status
from app.sweep.scheduling.exports import Exports
from app.sweep.scheduling.round_budget import RoundPolicy, Tally
from app.sweep.scheduling.round_jobs import (
    ROUND_OVERHEAD_S,
    Schedule,
    limits_under,
    settled_round,
)
from app.sweep.work.base import Work
from app.sweep.work.round import RoundWork, SettledRound


class RoundScheduler(ABC):
    """A source of exports and rounds that knows how many are left.

    `kind` is the work that it counts, `left_out` has a sentence for each host that gets no more.
    """

    kind: ClassVar[str] = RoundWork.kind
    schedule: Schedule
    exports: Exports
    left_out: Sequence[str] = ()

    @abstractmethod
    def next(self, finished_work: Sequence[Work]) -> Work | None:
        """The next work, as `Source` has it."""

    @abstractmethod
    def planned_rounds(self, case: Case) -> int:
        """How many rounds the case is to have, as far as is known now."""

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return self.exports.remaining

    @abstractmethod
    def all_rounds_left(self) -> int:
        """How many rounds of all cases are still to be measured; of searches at least so many."""

    @abstractmethod
    def rounds_total(self, recorded_count: int) -> int:
        """How many rounds the cases are to have, as far as is known; `recorded_count` are on
        disk."""

    @abstractmethod
    def take(self, result: RoundResult) -> None:
        """Count a round that ended; given twice, it counts once."""

    @property
    def guess_s(self) -> float:
        """How long a round takes as long as none has been measured."""
        return self.schedule.limits.min_s + ROUND_OVERHEAD_S

    @property
    def at_once(self) -> int:
        """How many rounds are measured at the same time, at most."""
        return 1

    @property
    def spread_left_s(self) -> float:
        """How long the rounds that are left take at least, because they are spread."""
        return 0.0

    def look(self, case: Case) -> str:
        """What a look after the last round of the case found; "" without one."""
        return ""

    def late_cases(self) -> Iterable[Case]:
        """Cases that follow-up jobs are for and that are known only after the rounds."""
        return ()


@dataclass
class GridScheduler(RoundScheduler):
    """Counts the rounds of a plan's cases, whichever host measures them.

    `statuses` maps a case's id to the statuses of the rounds that are already recorded.
    """

    schedule: Schedule
    statuses: Mapping[str, Mapping[int, Status]]
    round_policy: RoundPolicy
    exports: Exports = field(init=False)
    _tally: Tally = field(default_factory=Tally)
    _open: dict[str, Case] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exports = Exports(self.schedule)
        for case in self.schedule.cases:
            statuses = self.statuses.get(case.case_id, {})
            has_ended = not TERMINAL.isdisjoint(statuses.values())
            planned_rounds = self.round_policy.planned_rounds(case)
            self._tally.add(case.case_id, planned_rounds, statuses, has_ended)
        self._open = {case.case_id: case for case in self.schedule.cases if self.rounds_left(case)}

    def rounds_left(self, case: Case) -> int:
        """How many processes this case still needs; 0 once it has failed."""
        return self._tally.remaining_of(case.case_id)

    def planned_rounds(self, case: Case) -> int:
        return self._tally.planned_of(case.case_id)

    def all_rounds_left(self) -> int:
        return self._tally.remaining

    def rounds_total(self, recorded_count: int) -> int:
        return self._tally.planned

    def take(self, result: RoundResult) -> None:
        if not self._tally.take(result.case_id, result.round):
            return
        self._learn(result)
        if result.status in TERMINAL:
            self._tally.end(result.case_id)
        policy = self.round_policy
        for case in policy.revised_by(self._open[result.case_id]):
            if case.case_id in self._open and not self._tally.has_ended(case.case_id):
                self._tally.want(case.case_id, policy.planned_rounds(case))

    def look(self, case: Case) -> str:
        return self.round_policy.look(case)

    def _settled(
        self, case: Case, status: Status, reason: str, transient: bool = False
    ) -> SettledRound:
        """The end of a case of which nothing more is measured."""
        number = self._tally.first_missing(case.case_id)
        self._tally.end(case.case_id)
        return settled_round(self.schedule, case, number, status, reason, transient=transient)

    def _learn(self, result: RoundResult) -> None:
        """Take from a round that counts what those after it depend on."""

    def _guess_s(self, case: Case) -> float:
        """How long a round of this case takes of which nothing is known."""
        return limits_under(case.condition, self.schedule.limits).min_s + ROUND_OVERHEAD_S


S = TypeVar("S")
"""One search."""


class SearchScheduler(RoundScheduler, Generic[S]):
    """A search has one step in flight; `_searches` are those that are not over, as far as known."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.exports = schedule, Exports(schedule)
        self._planned_ids = {case.case_id for case in schedule.cases}
        self._settled_rounds: deque[SettledRound] = deque()
        self._searches: deque[S] = deque()
        self._measuring = 0

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        for work in finished_work:
            self.exports.take(work)
            if isinstance(work, RoundWork):
                self._measuring -= 1
            if isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
                if work.result.status == "cancelled":
                    self._skip_search()
        if self._settled_rounds:
            return self._settled_rounds.popleft()
        if self._exports_first() and (export := self.exports.next(always=True)) is not None:
            return export
        if self._measuring or self.exports.in_flight:
            return None
        step = self._step()
        if isinstance(step, RoundWork | SettledRound):
            step.is_search_case = step.case.case_id not in self._planned_ids
        self._measuring += isinstance(step, RoundWork)
        return step

    def all_rounds_left(self) -> int:
        """At least so many: how many a search takes is known when it is over."""
        return len(self._settled_rounds) + len(self._searches)

    def rounds_total(self, recorded_count: int) -> int:
        """How many rounds there are so far; a search does not know beforehand how many it takes."""
        return recorded_count + self.all_rounds_left()

    def _exports_first(self) -> bool:
        """Whether the exports that wait come before the next step."""
        return True

    @abstractmethod
    def _skip_search(self) -> None:
        """The last step can't be had in this run, such as for want of an export that the budget
        ended: its search ends here, and a resumed run goes on with it."""

    @abstractmethod
    def _step(self) -> Work | None:
        """The next round of a search that is not over; None if none is left."""


LONGEST_S = 10.0
"""A round at a rate lasts so long at most, or as long as the profile has it if that is longer: at
200 requests a second there are as many as a p99 takes."""
