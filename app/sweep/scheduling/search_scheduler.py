"""The scheduler of a search: its next round depends on the rounds before it."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from app.cases.case import Case
from app.sweep.scheduling.round_jobs import (
    ModelKey,
    Schedule,
    model_export,
    models_of,
)
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply

S = TypeVar("S")
"""One search."""


class SearchScheduler(RoundScheduler, Generic[S]):
    """A search has one step in flight; `_searches` are those that are not over, as far as known."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._planned_ids = {case.case_id for case in schedule.cases}
        self._models: dict[ModelKey, ExportReply] = {}
        self._exports: deque[ExportWork] = deque()
        self._settled_rounds: deque[SettledRound] = deque()
        self._searches: deque[S] = deque()
        self._in_flight = 0

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished_work)
        for work in finished_work:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
                if work.result.status == "cancelled":
                    self._skip_search()
        following = self._next()
        if following is not None:
            self._in_flight += 1
        return following

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return len(self._exports)

    def all_rounds_left(self) -> int:
        """At least so many: how many a search takes is known when it is over."""
        return len(self._settled_rounds) + len(self._searches)

    def rounds_total(self, recorded_count: int) -> int:
        """How many rounds there are so far; a search does not know beforehand how many it takes."""
        return recorded_count + self.all_rounds_left()

    @abstractmethod
    def _skip_search(self) -> None:
        """The last step can't be had in this run, such as for want of an export that the budget
        ended: its search ends here, and a resumed run goes on with it."""

    @abstractmethod
    def _step(self) -> Work | None:
        """The next round of a search that is not over; None if none is left."""

    def _next(self) -> Work | None:
        if self._settled_rounds:
            return self._settled_rounds.popleft()
        if self._exports:
            return self._exports.popleft()
        return None if self._in_flight else self._step()

    def _queue_exports(
        self, case_points: Iterable[tuple[Case, Iterable[Mapping[str, int]]]]
    ) -> None:
        for case, points in models_of(case_points):
            self._exports.append(model_export(self.schedule, case, points))


LONGEST_S = 10.0
"""A round at a rate lasts so long at most, or as long as the profile has it if that is longer: at
200 requests a second there are as many as a p99 takes."""
