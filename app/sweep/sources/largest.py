"""The source of a search for the largest batch that fits.

Each try is one round in a fresh process, recorded like any other; what comes next follows from
how the tries ended and from the memory that they held.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.cases.case import Case
from app.cases.round import RoundResult
from app.results.searches import Search, Try, searches
from app.sweep.sources.rounds import (
    Schedule,
    refused_without_model,
    round_work,
    settled,
)
from app.sweep.sources.searching import Searching
from app.sweep.work.base import Work
from exporters.types import ExportedModel, axes_key, repeat_reference

REFERENCES = "references"
REFERENCE_BATCH = 4
"""The outputs of every try are checked against those of so many entries, repeated."""


class LargestBatch(Searching[Search]):
    """Searches one subject after another; `schedule.cases` are the first tries.

    `done` are the cases already tried.
    """

    def __init__(self, schedule: Schedule, done: Iterable[Try]) -> None:
        super().__init__(schedule)
        self._tries = {one.case.case_id: one for one in done}
        self._cases = {case.case_id: case for case in schedule.cases}
        limit = schedule.memory_limit_bytes
        found = {search.base.case_id: search for search in searches(schedule.cases, limit)}
        for case in schedule.cases:
            refused = refused_without_model(schedule, case)
            if case.case_id not in found:
                reason = f"{case.model} has no open batch axis: remove --largest-batch"
                refused = "unsupported", reason
            if refused is None:
                self._searches.append(found[case.case_id])
            elif case.case_id not in self._tries:
                self._settled.append(settled(schedule, case, 0, *refused))
        still = [search for search in self._searches if self._next_of(search) is not None]
        self._queue_exports((s.base, [s.case_at(REFERENCE_BATCH).axes]) for s in still)

    def wanted(self, case: Case) -> int:
        """Each try is one round."""
        return 1

    def take(self, result: RoundResult) -> None:
        self._tries[result.case_id] = Try(self._cases[result.case_id], result)

    def _leave_off(self) -> None:
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
        tried = case.case_id not in self._planned
        if reply.model is None:
            return round_work(self.schedule, case, 0, reply, tried)
        positions = _batch_positions(reply.model, axis)
        if positions is None:
            reason = f"not every input and output of {case.model} has the axis {axis!r}"
            reason = f"{reason}: remove --largest-batch"
            return settled(self.schedule, case, 0, "unsupported", reason, tried)
        folder = self.schedule.samples_folder.parent / REFERENCES
        folder.mkdir(exist_ok=True)
        path = folder.absolute() / f"{case.case_id}.npz"
        small = reply.model.at({**case.axes, axis: REFERENCE_BATCH})
        stored = small.references[axes_key(small.axes)]
        path.unlink(missing_ok=True)  # a link of a stranger's folder is replaced, not followed
        repeat_reference(stored, str(path), positions, case.axes[axis])
        point = reply.model.at(case.axes).axes
        model = replace(reply.model, references={axes_key(point): str(path)})
        return round_work(self.schedule, case, 0, replace(reply, model=model), tried)


def _batch_positions(model: ExportedModel, axis: str) -> dict[str, int] | None:
    """Where each array of the model's reference has its batch; None where one has none."""
    sides = {"input": model.inputs, "output": model.outputs}
    specs = {f"{side}:{spec.name}": spec for side, all_of in sides.items() for spec in all_of}
    if any(spec.shape.count(axis) != 1 for spec in specs.values()):
        return None
    return {name: spec.shape.index(axis) for name, spec in specs.items()}
