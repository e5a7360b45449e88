"""Scheduler of the search for the largest batch that fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.capabilities.largest_batch.search import Search, Try, searches, tries_of
from app.cases.case import Case
from app.cases.round import RoundResult
from app.run_folder.run import Run
from app.sweep.scheduling.round_jobs import (
    Schedule,
    early_refusal,
    round_work,
    settled_round,
)
from app.sweep.scheduling.round_scheduler import SearchScheduler
from app.sweep.work.base import Work
from exporters.types import ExportedModel, axes_key, repeat_reference

REFERENCES = "references"
REFERENCE_BATCH = 4
"""The outputs of every try are checked against those of so many entries, repeated."""


class LargestBatch(SearchScheduler[Search]):
    """Searches one subject after another; `schedule.cases` are the first tries.

    A try has no warm-up and no runs for checks alone: it shows whether a batch runs, and at large
    batches every further run takes as long as all else. Two runs stay, since engines plan their
    memory in the first and hold most in the second.
    """

    def __init__(self, schedule: Schedule, tries: Iterable[Try]) -> None:
        limits = replace(schedule.limits, warmup_max_s=0.0, has_check_runs=False)
        super().__init__(replace(schedule, limits=limits))
        self._tries = {attempt.case.case_id: attempt for attempt in tries}
        self._cases = {case.case_id: case for case in schedule.cases}
        limit = schedule.memory_limit_bytes
        searches_by_case = {
            search.base.case_id: search for search in searches(schedule.cases, limit)
        }
        for case in schedule.cases:
            refusal = early_refusal(schedule, case)
            if case.case_id not in searches_by_case:
                reason = f"{case.model} has no open batch axis: remove --largest-batch"
                refusal = "unsupported", reason
            if refusal is None:
                self._searches.append(searches_by_case[case.case_id])
            elif case.case_id not in self._tries:
                self._settled_rounds.append(settled_round(schedule, case, 0, *refusal))
        open_searches = [search for search in self._searches if self._next_of(search) is not None]
        self.exports.add((s.base, [s.case_at(REFERENCE_BATCH).axes]) for s in open_searches)

    def planned_rounds(self, case: Case) -> int:
        """Each try is one round."""
        return 1

    def take(self, result: RoundResult) -> None:
        self._tries[result.case_id] = Try(self._cases[result.case_id], result)

    def _skip_search(self) -> None:
        self._searches.popleft()

    def _exports_first(self) -> bool:
        """Until the first open search has its model; then come its tries: a run that is stopped
        early has answers for its first models."""
        while self._searches and self._next_of(self._searches[0]) is None:
            self._searches.popleft()
        if not self._searches:
            return True
        base = self._searches[0].base
        return (base.model, base.precision) not in self.exports.models

    def _step(self) -> Work | None:
        if not self._searches:
            return None
        search = self._searches[0]
        case = self._next_of(search)
        assert case is not None, "searches that are over have been removed"
        self._cases[case.case_id] = case
        return self._try(case, search.axis)

    def _next_of(self, search: Search) -> Case | None:
        return search.next_case(self._tries.values())

    def _try(self, case: Case, axis: str) -> Work:
        """One round, its outputs checked against the stored reference, repeated."""
        reply = self.exports.models[case.model, case.precision]
        if reply.model is None:
            return round_work(self.schedule, case, 0, reply)
        positions = _batch_positions(reply.model, axis)
        if positions is None:
            reason = f"not every input and output of {case.model} has the axis {axis!r}"
            reason = f"{reason}: remove --largest-batch"
            return settled_round(self.schedule, case, 0, "unsupported", reason)
        folder = self.schedule.samples_folder.parent / REFERENCES
        folder.mkdir(exist_ok=True)
        path = folder.absolute() / f"{case.case_id}.npz"
        small = reply.model.at({**case.axes, axis: REFERENCE_BATCH})
        stored_reference = small.references[axes_key(small.axes)]
        path.unlink(missing_ok=True)  # a link of a stranger's folder is replaced, not followed
        repeat_reference(stored_reference, str(path), positions, case.axes[axis])
        point = reply.model.at(case.axes).axes
        model = replace(reply.model, references={axes_key(point): str(path)})
        return round_work(self.schedule, case, 0, replace(reply, model=model))


def _batch_positions(model: ExportedModel, axis: str) -> dict[str, int] | None:
    """Where each array of the model's reference has its batch; None where one has none."""
    sides = {"input": model.inputs, "output": model.outputs}
    specs = {f"{side}:{spec.name}": spec for side, tensors in sides.items() for spec in tensors}
    if any(spec.shape.count(axis) != 1 for spec in specs.values()):
        return None
    return {name: spec.shape.index(axis) for name, spec in specs.items()}


def scheduler_of(schedule: Schedule, run: Run) -> LargestBatch:
    """With the tries that the run has, but for tries that will be repeated."""
    tries = [attempt for attempt in tries_of(run) if not attempt.result.is_tried_again]
    return LargestBatch(schedule, tries)
