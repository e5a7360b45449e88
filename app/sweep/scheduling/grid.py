"""Scheduler of a plan's grid on this machine: exports, then rounds in a seeded random order.

An opening comes before both, where it can: a first round while its references are computed.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.scenario import NO_CONDITION
from app.cases.status import Status
from app.cases.turns import MOST_SEATS
from app.machine.installed_runtimes import runtime
from app.sweep.scheduling.round_budget import (
    MINIMUM_WAIT_S,
    CaseSelection,
    contests,
)
from app.sweep.scheduling.round_jobs import (
    Schedule,
    draft_export,
    early_refusal,
    round_work,
)
from app.sweep.scheduling.round_scheduler import GridScheduler
from app.sweep.scheduling.turns import (
    TurnSet,
    fit_in_memory,
    is_simulated,
    takes_turns,
    turn_groups,
)
from app.sweep.work.base import WaitWork, Work
from app.sweep.work.export import DraftWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import FILE_ENDINGS, ExportedModel, Precision
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
        and schedule.plan.checked
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


@dataclass
class FixedSweep(GridScheduler):
    """The order of exports and rounds on this machine."""

    _refused: deque[SettledRound] = field(default_factory=deque)
    _rounds: deque[tuple[tuple[Case, ...], int]] = field(default_factory=deque)
    """Of a pass: cases that take turns together, or one alone, and the number of the round."""
    _prepared: deque[RoundWork | SettledRound] = field(default_factory=deque)
    _turns: TurnSet | None = None
    _next_number: int = 0
    _measuring: int = 0
    _handed_out_s: float = 0.0
    _waiting: WaitWork | None = None
    _started_pass: int = -1
    _broken_pass: int = -1
    _opening: Opening | None = None
    _selection: CaseSelection | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        schedule = self.schedule
        refusals: dict[tuple[str, Precision], tuple[Status, str] | None] = {}
        for case in self._open.values():
            key = case.runtime, case.precision
            if key not in refusals:
                refusals[key] = early_refusal(schedule, case)
            if (refusal := refusals[key]) is not None:
                self._refused.append(self._settled(case, *refusal))
        open_cases = [c for c in self._open.values() if self.rounds_left(c)]
        self.exports.queue(open_cases)
        if schedule.budget.is_bounded:
            self._selection = CaseSelection(
                contests(open_cases), self._tally, schedule.budget, self.guess_s
            )
        if not any(self.statuses.values()):  # a run that goes on has most of it in the cache
            self._opening = opening_of(schedule, open_cases)

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        opening = self._opening
        for work in finished_work:
            if opening is not None:
                opening.take(work)
            self.exports.take(work)
            if isinstance(work, RoundWork) and work.result is None:
                self._measuring -= 1  # an opening that was dropped
            if isinstance(work, WaitWork):
                self._waiting = None
                if not work.was_interrupted and self._rounds:
                    self._started_pass = self._rounds[0][1]
            if isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
                if isinstance(work, RoundWork):
                    self._measuring -= 1
                    if self._turns is None:
                        seconds = time.monotonic() - self._handed_out_s
                        self.schedule.budget.learn(work.result.case_id, seconds)
        if self._refused:
            return self._refused.popleft()
        if opening is not None:
            replies = self.exports.replies_of(opening.case)
            opening.check(replies[0] if replies else None)
            if (first := opening.next()) is not None:
                self._measuring += isinstance(first, RoundWork)
                self._handed_out_s = time.monotonic()
                return first
            if opening.waits:
                return None
        if (export := self.exports.next()) is not None:
            return export
        if self.exports.in_flight:
            return None
        if self._waiting is not None:
            return None
        return self._next_round()

    def _next_round(self) -> Work | None:
        """The next of the set that takes turns, or of a pass; None to wait for one."""
        if self._turns is not None:
            if not self.schedule.budget.left_s:
                self._turns.start_no_more()
            if (seated := self._turns.next()) is not None:
                return self._hand_out(seated)
            if not self._turns.over:
                return None
            for case_id, seconds in self._turns.seconds():
                self.schedule.budget.learn(case_id, seconds)
            if (dropped := self._turns.dropped) and self.schedule.budget.left_s:
                self._broken_pass = self._started_pass
                self._rounds.extendleft((cases, self._broken_pass) for cases in dropped)
            self._turns.close()
            self._turns = None
        while self._prepared or self._rounds or self._queue_rounds():
            if self._prepared:
                return self._hand_out(self._prepared.popleft())
            if not is_simulated(self._rounds[0][0][0]) and (wait := self._wait()) is not None:
                self._waiting = wait
                return wait
            self._prepare()
            if self._turns is not None:
                return self._next_round()
        return None

    def _prepare(self) -> None:
        """The works of what comes next in the pass: a set that takes turns, or one round alone.
        Those of the first pass are begun as far as each fits."""
        cases, number = self._rounds.popleft()
        if number and not self._fit(cases):
            return
        groups = [cases]
        while self._joins(groups, number):
            groups.append(self._rounds.popleft()[0])
        seated: list[list[RoundWork]] = []
        for group in groups:
            works = [work for case in group if (work := self._work(case, number)) is not None]
            rounds = [work for work in works if isinstance(work, RoundWork)]
            self._prepared.extend(work for work in works if isinstance(work, SettledRound))
            if rounds:
                seated.append(rounds)
        models = [work.job.model for group in seated for work in group]
        if len(models) > 1 and fit_in_memory(models):
            self._turns = TurnSet(seated, f"{number}:{seated[0][0].case.case_id}")
        else:
            self._prepared.extend(work for group in seated for work in group)

    def _joins(self, groups: Sequence[tuple[Case, ...]], number: int) -> bool:
        """Whether what comes next takes turns with these: as many as there is memory and time for.
        The first pass answers group by group, and so does one of which a set broke."""
        if number in (0, self._broken_pass) or not self._rounds or self._rounds[0][1] != number:
            return False
        following = self._rounds[0][0]
        cases = [case for group in (*groups, following) for case in group]
        replies = [self.exports.replies_of(case) for case in cases]
        return (
            all(takes_turns(self.schedule.plan, group[0]) for group in (*groups, following))
            and len(cases) <= MOST_SEATS
            and self._fit(cases)
            and fit_in_memory([both[0].model for both in replies if both and both[0].model])
        )

    def _fit(self, cases: Sequence[Case]) -> bool:
        """Whether a round of each is likely to end in time: half a set compares nothing."""
        return self.schedule.budget.fit({case.case_id: self._guess_s(case) for case in cases})

    def _work(self, case: Case, number: int) -> RoundWork | SettledRound | None:
        """A round of a case; None where there is to be none any more, or no time."""
        replies = self.exports.replies_of(case)
        if self._tally.has_ended(case.case_id):
            return None
        if replies is None:
            self._tally.end(case.case_id)
            return None
        reply, neighbour_reply = replies
        work = round_work(self.schedule, case, number, reply, neighbour_reply=neighbour_reply)
        if isinstance(work, SettledRound):
            self._tally.end(case.case_id)
        elif not self._fit((case,)):
            return None
        return work

    def _hand_out(self, work: RoundWork | SettledRound) -> Work:
        self._measuring += isinstance(work, RoundWork)
        self._handed_out_s = time.monotonic()
        return work

    def _learn(self, result: RoundResult) -> None:
        self.schedule.spread.take(result)

    @property
    def spread_left_s(self) -> float:
        """How long the rounds that are left take at least, because they are spread."""
        following = self._rounds[0][1] if self._rounds else self._next_number
        return self.schedule.spread.left_s(following) if self.all_rounds_left() else 0.0

    def _wait(self) -> WaitWork | None:
        """The wait before the pass that is queued; None if it may begin, or has begun."""
        (case, *_), number = self._rounds[0]
        if number == self._started_pass:
            return None
        spare_s = self.schedule.budget.spare_s(self._tally.remaining, self._guess_s(case))
        seconds = self.schedule.spread.wait_s(number, spare_s)
        if seconds >= MINIMUM_WAIT_S:
            return WaitWork(time.monotonic() + seconds, self.schedule.spread.reason)
        self._started_pass = number
        return None

    def _queue_rounds(self) -> bool:
        """Queue the next round of all that want it, once all rounds before it have ended."""
        selection = self._selection
        while not self._rounds and not self._measuring:
            if selection is not None and selection.renew():
                self._next_number = 0
            if self._next_number >= self.schedule.rounds:
                break
            number, self._next_number = self._next_number, self._next_number + 1
            order = list(self._open.values())  # so that it does not depend on which have ended
            random.Random(f"{self.schedule.seed}:{number}").shuffle(order)
            lacking = [
                case
                for case in order
                if self._tally.lacks(case.case_id, number)
                and (selection is None or selection.has(case))
            ]
            groups = turn_groups(self.schedule, lacking)
            self._rounds.extend((group, number) for group in groups if not is_simulated(group[0]))
            # One process of a card serves all of its rounds, which need no other time.
            self._rounds.extend(
                ((case,), later)
                for (case, *_) in groups
                if is_simulated(case)
                for later in range(number, self._tally.planned_of(case.case_id))
                if self._tally.lacks(case.case_id, later)
            )
        return bool(self._rounds)
