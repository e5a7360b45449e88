"""The source of a search: the highest rate of requests that keeps a latency target.

Each step is a case in an open loop, recorded like any other.
"""

from __future__ import annotations

from dataclasses import replace

from app.cases.case import Case
from app.cases.round import RoundResult
from app.results.rate_search import RateSearch, Searched, rate_searches
from app.results.run import Run, standing
from app.stats.judging import FIRST_LOOK, cluster, requests_wanted
from app.sweep.sources.batches import points as batch_points
from app.sweep.sources.conditions import neighbour_case
from app.sweep.sources.rounds import (
    ARRIVALS,
    Schedule,
    refused_without_model,
    round_work,
    settled,
)
from app.sweep.sources.searching import Searching
from app.sweep.work.base import Work
from app.sweep.work.round import SettledRound

LONGEST_S = 10.0
"""A round at a rate lasts so long at most, or as long as the profile has it if that is longer: at
200 requests a second there are as many as a p99 takes."""


def arrivals_of(rate_hz: float) -> str:
    """Names the gaps of the rounds at a rate: those of other rates are independent of them, so that
    their errors average out over a search."""
    return f"arrivals at {rate_hz:g}/s"


class HighestRate(Searching[RateSearch]):
    """Searches all subjects in turn, so that a machine that slows down does so under all of them.

    `recorded` is the run so far.
    """

    def __init__(self, schedule: Schedule, recorded: Run) -> None:
        super().__init__(schedule)
        self._known = standing(recorded)
        self._run = replace(recorded, rounds=self._known)
        refusals: dict[str, SettledRound] = {}
        for search in rate_searches(recorded):
            if search.of(self._run).following is None:
                continue
            refused = refused_without_model(schedule, search.base)
            if refused is None:
                self._searches.append(search)
            else:
                refusals[search.base.case_id] = settled(schedule, search.base, 0, *refused)
        self._settled.extend(refusals.values())
        subjects = [search.subject for search in self._searches]
        neighbours = filter(None, map(neighbour_case, subjects))
        self._queue_exports((case, batch_points(case)) for case in (*subjects, *neighbours))

    def wanted(self, case: Case) -> int:
        """As many rounds as it had, and those that a closed loop is judged after."""
        most = self._run.manifest.asked.lengths.rounds
        least = 1 if case.scenario.is_open_loop else min(FIRST_LOOK, most)
        return max(len(self._known.get(case.case_id, {})), least)

    def take(self, result: RoundResult) -> None:
        self._known.setdefault(result.case_id, {})[result.round] = result

    def _leave_off(self) -> None:
        self._searches.pop()

    def _step(self) -> Work | None:
        while self._searches:
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
        schedule, limits, arrivals = self.schedule, self.schedule.limits, ARRIVALS
        if point.rate_hz is not None:
            arrivals = arrivals_of(point.rate_hz)
            busy = point.rate_hz / searched.service_hz
            late_together = cluster(search.target, searched.service_hz, busy)
            requests = requests_wanted(search.target, late_together)
            longest_s = max(limits.max_s, LONGEST_S)
            limits = replace(limits, min_samples=requests, max_s=longest_s)
            schedule = replace(schedule, limits=limits)
        case, neighbour = point.case, neighbour_case(point.case)
        reply = self._models[case.model, case.precision]
        beside = self._models[neighbour.model, case.precision] if neighbour else None
        tried = case.case_id not in self._planned
        if tried and case not in self._run.tried:
            self._run = replace(self._run, tried=(*self._run.tried, case))
        return round_work(schedule, case, point.number, reply, tried, beside, arrivals=arrivals)
