"""Schedulers of searches: for the highest rate, the largest batch and the best options."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from app.capabilities.largest_batch.search import Search, Try, searches
from app.capabilities.slo_search.estimate import FIRST_LOOK, cluster, required_requests
from app.capabilities.slo_search.search import RateSearch, SearchState, rate_searches
from app.capabilities.tuning.search import Tuned, Tuning, tunings
from app.cases.case import Case
from app.cases.round import Limits, RoundResult
from app.run_folder.run import Run, final_rounds
from app.sweep.scheduling.round_jobs import (
    ARRIVALS,
    ROUND_OVERHEAD_S,
    ModelKey,
    Schedule,
    early_refusal,
    model_export,
    models_of,
    neighbour_case,
    round_work,
    settled_round,
)
from app.sweep.scheduling.round_jobs import points as batch_points
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import ExportedModel, axes_key, repeat_reference

S = TypeVar("S")
"""One search."""


class Searching(ABC, Generic[S]):
    """A search has one step in flight; `_searches` are those that are not over, as far as known."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._planned = {case.case_id for case in schedule.cases}
        self._models: dict[ModelKey, ExportReply] = {}
        self._exports: deque[ExportWork] = deque()
        self._settled: deque[SettledRound] = deque()
        self._searches: deque[S] = deque()
        self._in_flight = 0

    def next(self, finished: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished)
        for work in finished:
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
        return len(self._settled) + len(self._searches)

    def rounds_total(self, recorded: int) -> int:
        """How many rounds there are so far; a search does not know beforehand how many it takes."""
        return recorded + self.all_rounds_left()

    @abstractmethod
    def planned_rounds(self, case: Case) -> int:
        """How many rounds the case is to have, as far as is known now."""

    @abstractmethod
    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""

    @abstractmethod
    def _skip_search(self) -> None:
        """The last step can't be had in this run, such as for want of an export that the budget
        ended: its search ends here, and a resumed run goes on with it."""

    @abstractmethod
    def _step(self) -> Work | None:
        """The next round of a search that is not over; None if none is left."""

    def _next(self) -> Work | None:
        if self._settled:
            return self._settled.popleft()
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
        self._recorded_rounds = final_rounds(recorded)
        self._run = replace(recorded, rounds=self._recorded_rounds)
        refusals: dict[str, SettledRound] = {}
        for search in rate_searches(recorded):
            if search.of(self._run).following is None:
                continue
            refused = early_refusal(schedule, search.base)
            if refused is None:
                self._searches.append(search)
            else:
                refusals[search.base.case_id] = settled_round(schedule, search.base, 0, *refused)
        self._settled.extend(refusals.values())
        subjects = [search.subject for search in self._searches]
        neighbours = filter(None, map(neighbour_case, subjects))
        self._queue_exports((case, batch_points(case)) for case in (*subjects, *neighbours))

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
            searched = search.of(self._run)
            if searched.following is not None:
                self._searches.append(search)
                return self._round(search, searched)
        return None

    def _round(self, search: RateSearch, searched: SearchState) -> Work:
        """The next round of a search, as long as its rate and its target take."""
        point = searched.following
        assert point is not None, "a search that is over has no round"
        schedule, limits, arrivals = self.schedule, self.schedule.limits, ARRIVALS
        if point.rate_hz is not None:
            arrivals = arrivals_of(point.rate_hz)
            busy = point.rate_hz / searched.service_hz
            late_together = cluster(search.target, searched.service_hz, busy)
            requests = required_requests(search.target, late_together)
            longest_s = max(limits.max_s, LONGEST_S)
            limits = replace(limits, min_samples=requests, max_s=longest_s)
            schedule = replace(schedule, limits=limits)
        case, neighbour = point.case, neighbour_case(point.case)
        reply = self._models[case.model, case.precision]
        neighbour_reply = self._models[neighbour.model, case.precision] if neighbour else None
        is_search_case = case.case_id not in self._planned
        if is_search_case and case not in self._run.tried:
            self._run = replace(self._run, tried=(*self._run.tried, case))
        return round_work(
            schedule, case, point.number, reply, is_search_case, neighbour_reply, arrivals=arrivals
        )


REFERENCES = "references"
REFERENCE_BATCH = 4
"""The outputs of every try are checked against those of so many entries, repeated."""


class LargestBatch(Searching[Search]):
    """Searches one subject after another; `schedule.cases` are the first tries.

    `done` are the cases already tried. A try has no warm-up: it shows whether a batch runs, and at
    large batches every further run takes as long as all else.
    """

    def __init__(self, schedule: Schedule, tries: Iterable[Try]) -> None:
        super().__init__(replace(schedule, limits=replace(schedule.limits, warmup_max_s=0.0)))
        self._tries = {attempt.case.case_id: attempt for attempt in tries}
        self._cases = {case.case_id: case for case in schedule.cases}
        limit = schedule.memory_limit_bytes
        searches_by_case = {
            search.base.case_id: search for search in searches(schedule.cases, limit)
        }
        for case in schedule.cases:
            refused = early_refusal(schedule, case)
            if case.case_id not in searches_by_case:
                reason = f"{case.model} has no open batch axis: remove --largest-batch"
                refused = "unsupported", reason
            if refused is None:
                self._searches.append(searches_by_case[case.case_id])
            elif case.case_id not in self._tries:
                self._settled.append(settled_round(schedule, case, 0, *refused))
        open_searches = [search for search in self._searches if self._next_of(search) is not None]
        self._queue_exports((s.base, [s.case_at(REFERENCE_BATCH).axes]) for s in open_searches)

    def planned_rounds(self, case: Case) -> int:
        """Each try is one round."""
        return 1

    def take(self, result: RoundResult) -> None:
        self._tries[result.case_id] = Try(self._cases[result.case_id], result)

    def _skip_search(self) -> None:
        self._searches.popleft()

    def _step(self) -> Work | None:
        while self._searches:
            search = self._searches[0]
            case = self._next_of(search)
            if case is not None:
                self._cases[case.case_id] = case
                return self._try(case, search.axis)
            self._searches.popleft()
        return None

    def _next_of(self, search: Search) -> Case | None:
        return search.next_case(self._tries.values())

    def _try(self, case: Case, axis: str) -> Work:
        """One round, its outputs checked against the stored reference, repeated."""
        reply = self._models[case.model, case.precision]
        is_search_case = case.case_id not in self._planned
        if reply.model is None:
            return round_work(self.schedule, case, 0, reply, is_search_case)
        positions = _batch_positions(reply.model, axis)
        if positions is None:
            reason = f"not every input and output of {case.model} has the axis {axis!r}"
            reason = f"{reason}: remove --largest-batch"
            return settled_round(self.schedule, case, 0, "unsupported", reason, is_search_case)
        folder = self.schedule.samples_folder.parent / REFERENCES
        folder.mkdir(exist_ok=True)
        path = folder.absolute() / f"{case.case_id}.npz"
        small = reply.model.at({**case.axes, axis: REFERENCE_BATCH})
        stored = small.references[axes_key(small.axes)]
        path.unlink(missing_ok=True)  # a link of a stranger's folder is replaced, not followed
        repeat_reference(stored, str(path), positions, case.axes[axis])
        point = reply.model.at(case.axes).axes
        model = replace(reply.model, references={axes_key(point): str(path)})
        return round_work(self.schedule, case, 0, replace(reply, model=model), is_search_case)


def _batch_positions(model: ExportedModel, axis: str) -> dict[str, int] | None:
    """Where each array of the model's reference has its batch; None where one has none."""
    sides = {"input": model.inputs, "output": model.outputs}
    specs = {f"{side}:{spec.name}": spec for side, tensors in sides.items() for spec in tensors}
    if any(spec.shape.count(axis) != 1 for spec in specs.values()):
        return None
    return {name: spec.shape.index(axis) for name, spec in specs.items()}


BEYOND = 4
"""Runs beyond a percentile that is the goal, in each round."""
MARGIN = 1.25
"""The final rounds may take so many times what rounds have taken so far."""
"""A round of a percentile lasts so long at most, or as long as the profile has it."""


class Tuner(Searching[Tuning]):
    """Searches one model after another, each with its share of the budget that is left.

    `recorded` is the run so far.
    """

    def __init__(self, schedule: Schedule, recorded: Run) -> None:
        super().__init__(schedule)
        self._recorded_rounds = final_rounds(recorded)
        self._run = replace(recorded, rounds=self._recorded_rounds)
        plan = recorded.manifest.requested_plan
        self._final_rounds = plan.lengths.rounds
        self._limits = _limits_for(schedule.limits, plan.goal.quantile if plan.goal else None)
        self._seconds: list[float] = []
        self._handed_out_s = 0.0
        self._end_s = math.nan
        self._tunings = tunings(recorded)
        for search in self._tunings:
            if search.of(self._run).following is not None:
                self._searches.append(search)
        self._queue_exports(
            (case, [case.axes]) for search in self._searches for case in _exported(search)
        )

    def next(self, finished: Sequence[Work]) -> Work | None:
        if finished and self._handed_out_s and not self._exports:
            self._seconds.append(time.monotonic() - self._handed_out_s)
        self._handed_out_s = 0.0
        return super().next(finished)

    def planned_rounds(self, case: Case) -> int:
        """As many rounds as it had: how many it is to have, nobody knows before."""
        return max(1, len(self._recorded_rounds.get(case.case_id, {})))

    def compared(self) -> list[Case]:
        """The steps of all ladders, once there are any."""
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
            tuned = search.of(self._run)
            if not tuned.final and self._must_end(tuned):
                tuned = search.of(self._run, hurry=True)
            if tuned.following is not None:
                return self._round(*tuned.following)
            self._searches.popleft()
            self._end_s = math.nan
        return None

    def _must_end(self, tuned: Tuned) -> bool:
        """Whether what is left is needed for the final rounds."""
        usual_s = self.schedule.limits.min_s + ROUND_OVERHEAD_S
        if self._seconds:
            usual_s = sum(self._seconds) / len(self._seconds)
        needed_s = MARGIN * usual_s * tuned.compared * self._final_rounds
        return time.monotonic() + needed_s > self._end_s

    def _round(self, case: Case, number: int) -> Work:
        is_search_case = case.case_id not in self._planned
        refused = early_refusal(self.schedule, case)
        if refused is not None:
            return settled_round(self.schedule, case, number, *refused, is_search_case)
        reply = self._models[case.model, case.precision]
        self._handed_out_s = time.monotonic()
        schedule = replace(self.schedule, limits=self._limits)
        return round_work(schedule, case, number, reply, is_search_case)


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


def _exported(search: Tuning) -> list[Case]:
    """The model in every precision and at every batch that the search may come to."""
    space = search.space
    precisions = dict.fromkeys(p for choices in space.precisions.values() for p in choices)
    sizes = [{space.batch_axis: batch} for batch in space.batches] or [{}]
    return [
        replace(space.base, precision=precision, axes={**space.base.axes, **size})
        for precision in precisions
        for size in sizes
    ]
