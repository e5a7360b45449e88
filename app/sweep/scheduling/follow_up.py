"""Follow-up jobs: what a run does after its last round, one capability after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from app.cases.case import Case
from app.cases.status import RAN
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.sweep.scheduling.round_jobs import export_request
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.model_names import is_null
from exporters.types import ExportedModel, axes_key

FOLLOW_UP_S = 4.0
"""A first guess of what operator times or an accuracy take: a process, an engine, some runs."""


class RunState:
    """What follow-up jobs go on from: `rounds` schedules the rounds, `recorded` is on disk, `ran`
    are the ids of the cases that gave outputs, by now."""

    def __init__(self, rounds: RoundScheduler, recorded: Run) -> None:
        self.rounds, self.recorded = rounds, recorded
        self.ran = {
            case_id
            for case_id, rounds_by_number in recorded.rounds.items()
            if any(r.status in RAN and not r.is_tried_again for r in rounds_by_number.values())
        }

    @property
    def plan(self) -> Plan:
        return self.recorded.manifest.requested_plan

    @property
    def models(self) -> list[Case]:
        """The cases without no-op twins, which have no operators and no answers."""
        return [case for case in self.recorded.manifest.cases if not is_null(case.model)]

    def take(self, work: Work) -> None:
        """Something has ended."""
        if isinstance(work, RoundWork) and work.result and work.result.status in RAN:
            self.ran.add(work.result.case_id)


class FollowUp(ABC):
    """Jobs of one kind, one after the other, once the rounds have ended."""

    kind: ClassVar[str]

    def __init__(self, state: RunState) -> None:
        self.ran, self.exports = state.ran, state.rounds.exports
        self.time_limit_s = state.recorded.manifest.time_limit_s
        self.memory_limit_bytes = state.rounds.schedule.memory_limit_bytes

    @property
    @abstractmethod
    def remaining(self) -> int:
        """How many jobs it may still give, at most."""

    @abstractmethod
    def next(self) -> Work | None:
        """The next job, or the export that it takes, while nothing is in flight."""

    def take(self, work: Work) -> None:  # noqa: B027 - not all learn from what they did
        """Something has ended."""

    def _model_or_export(self, case: Case, waiting: Sequence[Case]) -> ExportedModel | Work | None:
        """The model with a reference for this case, the export that brings it, or None if there
        can be none; a resumed run exports only what its rounds still need.

        `waiting` are the cases that are to follow: the export is for all that are of the model.
        """
        reply = self.exports.models.get((case.model, case.precision))
        if reply is None or _lacks(reply, case):
            key = (case.model, case.precision)
            sizes = (c.axes for c in (case, *waiting) if (c.model, c.precision) == key)
            return self._export(case, list({axes_key(axes): axes for axes in sizes}.values()))
        return reply.model

    def _export(self, case: Case, points: Sequence[Mapping[str, int]]) -> ExportWork:
        """The model of a case whose rounds this run did not have to measure; its outputs are
        compared with nothing here."""
        request = export_request(case, points, checked=False)
        return self.exports.hand_out(
            ExportWork(request, self.time_limit_s, self.memory_limit_bytes)
        )


def _lacks(reply: ExportReply, case: Case) -> bool:
    """Whether the model is there without a reference for this case."""
    model = reply.model
    return model is not None and axes_key(model.at(case.axes).axes) not in model.references
