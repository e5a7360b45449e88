"""The opening round: the first round of a run, measured before its model's references exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.cases.case import Case
from app.cases.scenario import NO_CONDITION
from app.machine.installed_runtimes import runtime
from app.sweep.scheduling.round_jobs import (
    Schedule,
    draft_export,
    round_work,
)
from app.sweep.work.base import Work
from app.sweep.work.export import DraftWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.types import FILE_ENDINGS, ExportedModel
from runtimes import registry


@dataclass(slots=True)
class Opening:
    """The opening round of `case`; `next` hands out its draft and the round itself."""

    schedule: Schedule
    case: Case
    is_drafted: bool = False
    reply: ExportReply | None = None
    round: RoundWork | None = None
    is_over: bool = False

    @property
    def waits(self) -> bool:
        """Whether the draft is under way, which everything else waits for."""
        return self.is_drafted and self.reply is None and not self.is_over

    def next(self) -> Work | None:
        """The draft, then the round, if the draft can be measured; then nothing."""
        if self.is_over or self.round is not None:
            return None
        if not self.is_drafted:
            self.is_drafted = True
            return draft_export(self.schedule, self.case, [self.case.axes])
        if self.reply is None:
            return None
        model = self.reply.model
        if model is None or not has_known_sizes(model, self.case):
            self.is_over = True
            return None
        work = round_work(self.schedule, self.case, 0, self.reply, awaits_reference=True)
        if not isinstance(work, RoundWork):
            self.is_over = True
            return None
        self.round = work
        return work

    def take(self, work: Work) -> None:
        """Something has ended; what is not of the opening is passed over."""
        if isinstance(work, DraftWork):
            self.reply, self.is_over = work.reply, work.reply is None
        elif work is self.round:
            self.is_over = True

    def check(self, reply: ExportReply | None) -> None:
        """Have the round checked with the whole export of its model, or drop it."""
        if self.round is None or self.is_over or self.reply is None or reply is None:
            return
        self.is_over = True
        draft, model = self.reply.model, reply.model
        if model is not None and draft is not None and model.sha256 == draft.sha256:
            checked_model = model.at(self.case.axes)
            if not checked_model.unfit_at:
                self.round.check_with(checked_model)
                return
        self.round.abandon()


def opening_of(schedule: Schedule, cases: Sequence[Case]) -> Opening | None:
    """The opening of a run of these cases, of the engine that starts first in the registry's order;
    None where no case can be measured before it is checked."""
    names = registry.names()
    fit = [case for case in cases if _is_fit(schedule, case)]
    if not fit:
        return None
    first = min(fit, key=lambda case: names.index(registry.parse_spec(case.runtime).name))
    return Opening(schedule, first)


def _is_fit(schedule: Schedule, case: Case) -> bool:
    """A user's file as it is, in a closed loop of an engine on a processor of this machine, without
    limits that another order would meet at another time. Runtimes that are part of us need the
    references themselves."""
    engine = runtime(registry.parse_spec(case.runtime).name)
    return (
        case.model.endswith(FILE_ENDINGS)
        and case.precision == "fp32"
        and case.condition == NO_CONDITION
        and case.batcher is None
        and case.scenario.kind == "closed_loop"
        and schedule.checked
        and not schedule.memory_limit_bytes
        and not schedule.exported
        and not schedule.budget.is_bounded
        and engine.engine != ""
        and not engine.accelerator
    )


def has_known_sizes(model: ExportedModel, case: Case) -> bool:
    """Whether every output's size follows from the axes: other sizes only references tell."""
    axes = {**model.axes, **case.axes}
    sizes = [size for spec in model.outputs for size in spec.shape]
    return all(isinstance(size, int) or size in axes for size in sizes)
