"""Scheduler of the search for the highest request rate that meets a target."""

from __future__ import annotations

from dataclasses import replace

from app.capabilities.slo_search.search import RateSearch, SearchState, rate_searches
from app.cases.case import Case
from app.cases.round import RoundResult
from app.run_folder.run import Run, final_rounds
from app.stats.capacity import FIRST_LOOK, cluster, required_requests
from app.sweep.scheduling.round_jobs import (
    ARRIVALS,
    Schedule,
    early_refusal,
    neighbour_case,
    round_work,
    settled_round,
)
from app.sweep.scheduling.round_jobs import points as batch_points
from app.sweep.scheduling.round_scheduler import LONGEST_S, SearchScheduler
from app.sweep.work.base import Work
from app.sweep.work.round import SettledRound


def arrivals_of(rate_hz: float) -> str:
    """Names the gaps of the rounds at a rate: those of other rates are independent of them, so that
    their errors average out over a search."""
    return f"arrivals at {rate_hz:g}/s"


class HighestRate(SearchScheduler[RateSearch]):
    """Searches all subjects in turn, so that a machine that slows down does so under all of them.

    `recorded_run` is the run so far.
    """

    def __init__(self, schedule: Schedule, recorded_run: Run) -> None:
        super().__init__(schedule)
        self._recorded_rounds = final_rounds(recorded_run)
        self._run = replace(recorded_run, rounds=self._recorded_rounds)
        refusals: dict[str, SettledRound] = {}
        for search in rate_searches(recorded_run):
            if search.of(self._run).following is None:
                continue
            refusal = early_refusal(schedule, search.base)
            if refusal is None:
                self._searches.append(search)
            else:
                refusals[search.base.case_id] = settled_round(schedule, search.base, 0, *refusal)
        self._settled_rounds.extend(refusals.values())
        subjects = [search.subject for search in self._searches]
        neighbours = filter(None, map(neighbour_case, subjects))
        self.exports.add((case, batch_points(case)) for case in (*subjects, *neighbours))

    def planned_rounds(self, case: Case) -> int:
        """As many rounds as it had, and those that a closed loop is judged after."""
        maximum = self._run.manifest.requested_plan.lengths.rounds
        minimum = 1 if case.scenario.is_open_loop else min(FIRST_LOOK, maximum)
        return max(len(self._recorded_rounds.get(case.case_id, {})), minimum)

    def take(self, result: RoundResult) -> None:
        self._recorded_rounds.setdefault(result.case_id, {})[result.round] = result

    def _skip_search(self) -> None:
        self._searches.pop()

    def _step(self) -> Work | None:
        while self._searches:
            search = self._searches.popleft()
            state = search.of(self._run)
            if state.following is not None:
                self._searches.append(search)
                return self._round(search, state)
        return None

    def _round(self, search: RateSearch, state: SearchState) -> Work:
        """The next round of a search, as long as its rate and its target take."""
        point = state.following
        assert point is not None, "a search that is over has no round"
        schedule, limits, arrivals = self.schedule, self.schedule.limits, ARRIVALS
        if point.rate_hz is not None:
            arrivals = arrivals_of(point.rate_hz)
            busy = point.rate_hz / state.service_hz
            late_together = cluster(search.target, state.service_hz, busy)
            requests = required_requests(search.target, late_together)
            longest_s = max(limits.max_s, LONGEST_S)
            limits = replace(limits, min_samples=requests, max_s=longest_s)
            schedule = replace(schedule, limits=limits)
        case, neighbour = point.case, neighbour_case(point.case)
        reply = self.exports.models[case.model, case.precision]
        neighbour_reply = (
            self.exports.models[neighbour.model, case.precision] if neighbour else None
        )
        if case.case_id not in self._planned_ids and case not in self._run.tried:
            self._run = replace(self._run, tried=(*self._run.tried, case))
        return round_work(schedule, case, point.number, reply, neighbour_reply, arrivals)
