"""Exports of a sweep: each model once, and the null twin that is made of what it became."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
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
    """`models` are the replies that have come, to whoever asked for them. `checked`: outputs are
    compared with references, as the plan has it if it is None."""

    schedule: Schedule
    checked: bool | None = None
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
        self.add(chain(originals, neighbours))
        for twin, points in models_of((c, batch_points(c)) for c in cases if is_null(c.model)):
            self._twins[original_of(twin.model), twin.precision] = (twin, points)

    def add(self, case_points: Iterable[tuple[Case, Iterable[Mapping[str, int]]]]) -> None:
        """Each model once, with all these points."""
        for case, points in models_of(case_points):
            self._waiting.append(model_export(self.schedule, case, points, self.checked))

    def hand_out(self, work: ExportWork) -> ExportWork:
        """One that was not queued is in flight too."""
        self._in_flight += 1
        return work

    def take(self, work: Work) -> None:
        """An export that has ended; any other work is passed over, drafts too."""
        if work.kind == ExportWork.kind and isinstance(work, ExportWork) and work.reply is not None:
            self._in_flight -= 1
            self._take_reply(work.request, work.reply)

    def next(self, always: bool = False) -> ExportWork | None:
        """The next to begin, if there is one and the budget has room for it, or `always`."""
        if self._waiting and not always and not self.schedule.budget.export_fits:
            self._waiting.clear()
            self._twins.clear()
        return self.hand_out(self._waiting.popleft()) if self._waiting else None

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
