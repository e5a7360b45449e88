"""Exports of a sweep: each model once, and the null twin that is made of what it became."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from app.cases.case import Case
from app.sweep.scheduling.round_jobs import (
    ModelKey,
    Schedule,
    model_export,
    models_of,
    neighbour_case,
    null_export,
)
from app.sweep.scheduling.round_jobs import points as batch_points
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from exporters.messages import ExportReply, ExportRequest
from exporters.model_names import is_null, original_of


@dataclass(slots=True)
class Exports:
    """`models` are the replies that have come."""

    schedule: Schedule
    models: dict[ModelKey, ExportReply] = field(default_factory=dict)
    _waiting: deque[ExportWork] = field(default_factory=deque)
    _twins: dict[ModelKey, tuple[Case, list[Mapping[str, int]]]] = field(default_factory=dict)
    _in_flight: int = 0

    def __post_init__(self) -> None:
        self.models.update(self.schedule.exported)

    def queue(self, cases: Sequence[Case]) -> None:
        """Each model once, with all its points; a null twin is made of what its model became."""
        cases = [c for c in cases if (c.model, c.precision) not in self.schedule.exported]
        originals = ((_original(case), batch_points(case)) for case in cases)
        neighbours = ((case, [case.axes]) for case in filter(None, map(neighbour_case, cases)))
        for case, points in models_of(chain(originals, neighbours)):
            self._waiting.append(model_export(self.schedule, case, points))
        for twin, points in models_of((c, batch_points(c)) for c in cases if is_null(c.model)):
            self._twins[original_of(twin.model), twin.precision] = (twin, points)

    def take(self, work: Work) -> None:
        """An export that has ended; any other work is passed over, drafts too."""
        if work.kind == ExportWork.kind and isinstance(work, ExportWork) and work.reply is not None:
            self._in_flight -= 1
            self._take_reply(work.request, work.reply)

    def next(self) -> ExportWork | None:
        """The next to begin, if there is one and the budget has room for it."""
        if self._waiting and not self.schedule.budget.export_fits:
            self._waiting.clear()
            self._twins.clear()
        if not self._waiting:
            return None
        self._in_flight += 1
        return self._waiting.popleft()

    @property
    def remaining(self) -> int:
        """How many have not been handed out."""
        return len(self._waiting) + len(self._twins)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def replies_of(self, case: Case) -> tuple[ExportReply, ExportReply | None] | None:
        """What a case and its neighbour, if it has one, became; None if an export was left out."""
        reply = self.models.get((case.model, case.precision))
        neighbour = neighbour_case(case)
        neighbour_reply = self.models.get((neighbour.model, case.precision)) if neighbour else None
        if reply is None or (neighbour and neighbour_reply is None):
            return None
        return reply, neighbour_reply

    def _take_reply(self, request: ExportRequest, reply: ExportReply) -> None:
        """Keep it, and go on to the model's null twin, which can't be if the model is not."""
        self.models[request.model, request.precision] = reply
        case, points = self._twins.pop((request.model, request.precision), (None, []))
        if case is None:
            return
        if reply.model is None:
            self.models[case.model, case.precision] = reply
        else:
            self._waiting.append(null_export(self.schedule, case, points, reply.model))


def _original(case: Case) -> Case:
    """The case itself, or that whose null twin it is."""
    return replace(case, model=original_of(case.model)) if is_null(case.model) else case
