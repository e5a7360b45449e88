"""Follow-up jobs: what a run does after its last round, one capability after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.cases.case import Case
from app.cases.status import RAN
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.sweep.scheduling.round_jobs import (
    export_work,
)
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.work.base import Source, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.model_names import is_null
from exporters.types import ExportedModel, axes_key

FOLLOW_UP_S = 4.0
"""A first guess of what operator times or an accuracy take: a process, an engine, some runs."""


@dataclass(frozen=True, slots=True)
class RunState:
    """What follow-up jobs go on from: `rounds` schedules the rounds, `recorded` is on disk."""

    rounds: RoundScheduler
    recorded: Run

    @property
    def plan(self) -> Plan:
        return self.recorded.manifest.requested_plan

    @property
    def models(self) -> list[Case]:
        """The cases without no-op twins, which have no operators and no answers."""
        return [case for case in self.recorded.manifest.cases if not is_null(case.model)]

    @property
    def ran(self) -> list[str]:
        """The ids of the cases that are recorded to give outputs."""
        return [
            case_id
            for case_id, rounds in self.recorded.rounds.items()
            if any(r.status in RAN and not r.is_tried_again for r in rounds.values())
        ]


class FollowUp(ABC):
    """`source` until it is exhausted, then what `_next_of_ours` gives.

    `kind` is that of its own work.
    """

    kind: ClassVar[str]

    def __init__(self, source: Source, state: RunState) -> None:
        self._source = source
        self._ran = set(state.ran)
        self._time_limit_s = state.recorded.manifest.time_limit_s
        self._memory_limit_bytes = state.rounds.schedule.memory_limit_bytes
        self._models: dict[tuple[str, str], ExportReply] = {}
        self._in_flight = 0
        self._current: Work | None = None

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished_work)
        for work in finished_work:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork) and work.result and work.result.status in RAN:
                self._ran.add(work.result.case_id)
        following = self._source.next([work for work in finished_work if work is not self._current])
        if following is None and not self._in_flight:
            following = self._current = self._next_job()
        if following is not None:
            self._in_flight += 1
        return following

    def know(self, models: Mapping[tuple[str, str], ExportReply]) -> None:
        """What models became elsewhere, which is not to be exported here."""
        self._models.update(models)

    @property
    @abstractmethod
    def remaining(self) -> int:
        """How much work of its own it may still give, at most."""

    @abstractmethod
    def _next_job(self) -> Work | None:
        """The next work once the wrapped source has none and nothing is in flight."""

    def _model_or_export(self, case: Case, waiting: Sequence[Case]) -> ExportedModel | Work | None:
        """The model with a reference for this case, the export that brings it, or None if there
        can be none; a resumed run exports only what its rounds still need.

        `waiting` are the cases that are to follow: the export is for all that are of the model.
        """
        reply = self._models.get((case.model, case.precision))
        if reply is None or _lacks(reply, case):
            sizes = (c.axes for c in (case, *waiting) if _same_model(c, case))
            return self._export(case, list({axes_key(axes): axes for axes in sizes}.values()))
        return reply.model

    def _export(self, case: Case, points: Sequence[Mapping[str, int]]) -> ExportWork:
        """The model of a case whose rounds this run did not have to measure."""
        # Its outputs are compared with nothing here.
        return export_work(
            case, points, self._time_limit_s, self._memory_limit_bytes, checked=False
        )


def _lacks(reply: ExportReply, case: Case) -> bool:
    """Whether the model is there without a reference for this case."""
    model = reply.model
    return model is not None and axes_key(model.at(case.axes).axes) not in model.references


def _same_model(first: Case, second: Case) -> bool:
    return (first.model, first.precision) == (second.model, second.precision)
