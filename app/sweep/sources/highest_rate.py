"""The source of a search: the highest rate of requests that keeps a latency target.

Each step is a case in an open loop, recorded like any other. What comes next follows from the
rounds that are recorded, so that a resumed search goes on where it stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.cases.case import Case
from app.cases.round import RoundResult
from app.results.rate_search import RateSearch, Searched, rate_searches
from app.results.run import Run
from app.stats.judging import FIRST_LOOK, cluster, requests_wanted
from app.sweep.sources.batches import points as batch_points
from app.sweep.sources.rounds import (
    Schedule,
    model_export,
    refused_without_model,
    round_work,
    settled,
)
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.request import ExportReply
from exporters.types import Precision

LONGEST_S = 10.0
"""A round at a rate lasts so long at most, or as long as the profile has it if that is longer: at
200 requests a second there are as many as a p99 takes."""


class HighestRate:
    """Searches all subjects in turn, so that a machine that slows down does so under all of them.

    `recorded` is the run so far.
    """

    def __init__(self, schedule: Schedule, recorded: Run) -> None:
        self.schedule = schedule
        self._known = {case_id: dict(rounds) for case_id, rounds in recorded.rounds.items()}
        self._run = replace(recorded, rounds=self._known)
        self._planned = {case.case_id for case in schedule.cases}
        self._models: dict[tuple[str, Precision], ExportReply] = {}
        self._exports: deque[ExportWork] = deque()
        self._searches: deque[RateSearch] = deque()
        self._in_flight = 0
        refusals: dict[str, SettledRound] = {}
        for search in rate_searches(recorded):
            if search.of(self._run).following is None:
                continue
            refused = refused_without_model(search.base)
            if refused is None:
                self._searches.append(search)
            else:
                refusals[search.base.case_id] = settled(search.base, 0, *refused)
        self._settled = deque(refusals.values())
        self._queue_exports(search.subject for search in self._searches)

    def next(self, finished: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished)
        for work in finished:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
        following = self._next()
        if following is not None:
            self._in_flight += 1
        return following

    def wanted(self, case: Case) -> int:
        """As many rounds as it had, and at least those after which it is judged."""
        most = self._run.manifest.asked.lengths.rounds
        return max(len(self._known.get(case.case_id, {})), min(FIRST_LOOK, most))

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return len(self._exports)

    def all_rounds_left(self) -> int:
        """At least so many: how many a search takes is known when it is over."""
        return len(self._settled) + len(self._searches)

    def rounds_total(self, recorded: int) -> int:
        """How many rounds there are so far; a search does not know beforehand how many it takes."""
        return recorded + self.all_rounds_left()

    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""
        self._known.setdefault(result.case_id, {})[result.round] = result

    def _next(self) -> Work | None:
        if self._settled:
            return self._settled.popleft()
        if self._exports:
            return self._exports.popleft()
        while self._searches and not self._in_flight:
            search = self._searches.popleft()
            searched = search.of(self._run)
            if searched.following is not None:
                self._searches.append(search)
                return self._round(search, searched)
        return None

    def _round(self, search: RateSearch, searched: Searched) -> Work:
        """The next round of a search, as long as its rate and its target take."""
        point = searched.following
        assert point is not None, "a search that is over has no round"
        schedule, limits = self.schedule, self.schedule.limits
        if point.rate_hz is not None:
            busy = point.rate_hz / searched.service_hz
            late_together = cluster(search.target, searched.service_hz, busy)
            requests = requests_wanted(search.target, late_together)
            longest_s = max(limits.max_s, LONGEST_S)
            limits = replace(limits, min_samples=requests, max_s=longest_s)
            schedule = replace(schedule, limits=limits)
        reply = self._models[point.case.model, point.case.precision]
        tried = point.case.case_id not in self._planned
        return round_work(schedule, point.case, point.number, reply, tried)

    def _queue_exports(self, cases: Iterable[Case]) -> None:
        points: dict[tuple[str, Precision], tuple[Case, list[Mapping[str, int]]]] = {}
        for case in cases:
            _, known = points.setdefault((case.model, case.precision), (case, []))
            known += [point for point in batch_points(case) if point not in known]
        for case, of_model in points.values():
            self._exports.append(model_export(self.schedule, case, of_model))
