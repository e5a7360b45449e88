"""The source of a search: the largest batch that fits, by doubling and then bisection.

Each try is one round in a fresh process, recorded like any other. What comes next follows
from the statuses of the tries alone, so that a resumed search goes on where it stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import Status
from app.results.searches import Search, searches
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
from exporters.types import ExportedModel, Precision, axes_key, repeat_reference

REFERENCES = "references"
REFERENCE_BATCH = 4
"""The outputs of every try are checked against those of so many entries, repeated."""


class LargestBatch:
    """Searches one subject after another; `schedule.cases` are the first tries.

    `done` maps the id of every case already tried to its status.
    """

    def __init__(self, schedule: Schedule, done: Mapping[str, Status]) -> None:
        self.schedule = schedule
        self._statuses = dict(done)
        self._planned = {case.case_id for case in schedule.cases}
        self._models: dict[tuple[str, Precision], ExportReply] = {}
        self._exports: deque[ExportWork] = deque()
        self._in_flight = 0
        found = {search.base.case_id: search for search in searches(schedule.cases)}
        self._settled: deque[SettledRound] = deque()
        self._searches: deque[Search] = deque()
        for case in schedule.cases:
            refused = refused_without_model(case)
            if case.case_id not in found:
                reason = f"{case.model} has no open batch axis: leave --largest-batch out"
                refused = "unsupported", reason
            if refused is None:
                self._searches.append(found[case.case_id])
            elif case.case_id not in done:
                self._settled.append(settled(case, 0, *refused))
        self._queue_exports(s for s in self._searches if s.next_case(done) is not None)

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
        """Each try is one round."""
        return 1

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return len(self._exports)

    def all_rounds_left(self) -> int:
        """At least so many: how many tries a search takes is known when it is over."""
        return len(self._settled) + len(self._searches)

    def rounds_total(self, recorded: int) -> int:
        """How many tries there are so far; a search does not know beforehand how many it takes."""
        return recorded + self.all_rounds_left()

    def take(self, result: RoundResult) -> None:
        """Count a try that ended; told twice, it counts once."""
        self._statuses[result.case_id] = result.status

    def _next(self) -> Work | None:
        if self._settled:
            return self._settled.popleft()
        if self._exports:
            return self._exports.popleft()
        while self._searches and not self._in_flight:
            search = self._searches[0]
            case = search.next_case(self._statuses)
            if case is not None:
                return self._try(case, search.axis)
            self._searches.popleft()
        return None

    def _try(self, case: Case, axis: str) -> Work:
        """One round, its outputs checked against the stored reference, repeated."""
        reply = self._models[case.model, case.precision]
        tried = case.case_id not in self._planned
        if reply.model is None:
            return round_work(self.schedule, case, 0, reply, tried)
        positions = _batch_positions(reply.model, axis)
        if positions is None:
            reason = f"not every input and output of {case.model} has the axis {axis!r}"
            reason = f"{reason}: leave --largest-batch out"
            return settled(case, 0, "unsupported", reason, tried)
        folder = self.schedule.samples_folder.parent / REFERENCES
        folder.mkdir(exist_ok=True)
        path = folder.absolute() / f"{case.case_id}.npz"
        small = reply.model.at({**case.axes, axis: REFERENCE_BATCH})
        stored = small.references[axes_key(small.axes)]
        repeat_reference(stored, str(path), positions, case.axes[axis])
        point = reply.model.at(case.axes).axes
        model = replace(reply.model, references={axes_key(point): str(path)})
        return round_work(self.schedule, case, 0, replace(reply, model=model), tried)

    def _queue_exports(self, wanted: Iterable[Search]) -> None:
        points: dict[tuple[str, Precision], tuple[Case, list[Mapping[str, int]]]] = {}
        for search in wanted:
            case = search.base
            _, known = points.setdefault((case.model, case.precision), (case, []))
            point = search.case_at(REFERENCE_BATCH).axes
            if point not in known:
                known.append(point)
        for case, of_model in points.values():
            self._exports.append(model_export(self.schedule, case, of_model))


def _batch_positions(model: ExportedModel, axis: str) -> dict[str, int] | None:
    """Where each array of the model's reference has its batch; None where one has none."""
    sides = {"input": model.inputs, "output": model.outputs}
    specs = {f"{side}:{spec.name}": spec for side, all_of in sides.items() for spec in all_of}
    if any(spec.shape.count(axis) != 1 for spec in specs.values()):
        return None
    return {name: spec.shape.index(axis) for name, spec in specs.items()}
