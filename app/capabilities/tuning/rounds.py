"""Scheduler of the search for the best options of a model."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from app.capabilities.tuning.search import Tuned, Tuning, tunings
from app.cases.case import Case
from app.cases.round import Limits, RoundResult
from app.run_folder.run import Run, final_rounds
from app.sweep.scheduling.round_jobs import (
    ROUND_OVERHEAD_S,
    Schedule,
    early_refusal,
    round_work,
    settled_round,
)
from app.sweep.scheduling.round_scheduler import LONGEST_S, SearchScheduler
from app.sweep.work.base import Work

BEYOND = 4
"""Runs beyond a percentile that is the goal, in each round."""
MARGIN = 1.25
"""The final rounds may take so many times what rounds have taken so far."""


class Tuner(SearchScheduler[Tuning]):
    """Searches one model after another, each with its share of the budget that is left.

    `recorded_run` is the run so far.
    """

    def __init__(self, schedule: Schedule, recorded_run: Run) -> None:
        super().__init__(schedule)
        self._recorded_rounds = final_rounds(recorded_run)
        self._run = replace(recorded_run, rounds=self._recorded_rounds)
        plan = recorded_run.manifest.requested_plan
        self._final_rounds = plan.lengths.rounds
        self._limits = _limits_for(schedule.limits, plan.goal.quantile if plan.goal else None)
        self._seconds: list[float] = []
        self._handed_out_s = 0.0
        self._end_s = math.nan
        self._tunings = tunings(recorded_run)
        for search in self._tunings:
            if search.of(self._run).following is not None:
                self._searches.append(search)
        self.exports.add(
            (case, [case.axes]) for search in self._searches for case in _exported_cases(search)
        )

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        if finished_work and self._handed_out_s and not self.exports.remaining:
            self._seconds.append(time.monotonic() - self._handed_out_s)
        self._handed_out_s = 0.0
        return super().next(finished_work)

    def planned_rounds(self, case: Case) -> int:
        """As many rounds as it had: how many it is to have, nobody knows before."""
        return max(1, len(self._recorded_rounds.get(case.case_id, {})))

    def late_cases(self) -> list[Case]:
        """The steps of all ablations, once there are any."""
        answers = [search.of(self._run).ladder for search in self._tunings]
        return [step.case for answer in answers if answer is not None for step in answer.steps]

    def take(self, result: RoundResult) -> None:
        self._recorded_rounds.setdefault(result.case_id, {})[result.round] = result

    def _skip_search(self) -> None:
        self._searches.popleft()
        self._end_s = math.nan

    def _step(self) -> Work | None:
        while self._searches:
            search = self._searches[0]
            if math.isnan(self._end_s):
                left_s = self.schedule.budget.left_s / len(self._searches)
                self._end_s = time.monotonic() + left_s
            state = search.of(self._run)
            if not state.final and self._must_end(state):
                state = search.of(self._run, hurry=True)
            if state.following is not None:
                return self._round(*state.following)
            self._searches.popleft()
            self._end_s = math.nan
        return None

    def _must_end(self, state: Tuned) -> bool:
        """Whether what is left is needed for the final rounds."""
        usual_s = self.schedule.limits.min_s + ROUND_OVERHEAD_S
        if self._seconds:
            usual_s = sum(self._seconds) / len(self._seconds)
        needed_s = MARGIN * usual_s * state.compared * self._final_rounds
        return time.monotonic() + needed_s > self._end_s

    def _round(self, case: Case, number: int) -> Work:
        refusal = early_refusal(self.schedule, case)
        if refusal is not None:
            return settled_round(self.schedule, case, number, *refusal)
        reply = self.exports.models[case.model, case.precision]
        self._handed_out_s = time.monotonic()
        schedule = replace(self.schedule, limits=self._limits)
        return round_work(schedule, case, number, reply)


def _limits_for(limits: Limits, quantile: float | None) -> Limits:
    """With as many runs as a percentile takes, if that is the goal."""
    if quantile is None:
        return limits
    runs = math.ceil(BEYOND / min(quantile, 1.0 - quantile))
    return replace(
        limits,
        min_samples=max(limits.min_samples, runs),
        max_s=max(limits.max_s, LONGEST_S),
    )


def _exported_cases(search: Tuning) -> list[Case]:
    """The model in every precision and at every batch that the search may come to."""
    space = search.space
    precisions = dict.fromkeys(p for choices in space.precisions.values() for p in choices)
    sizes = [{space.batch_axis: batch} for batch in space.batches] or [{}]
    return [
        replace(space.base, precision=precision, axes={**space.base.axes, **size})
        for precision in precisions
        for size in sizes
    ]
