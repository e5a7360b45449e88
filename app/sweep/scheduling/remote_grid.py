"""Scheduler of a plan's grid on the hosts of a cluster: exports here, rounds there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import TERMINAL, Status
from app.formatting.text import counted
from app.machine.installed_runtimes import runtime
from app.run_folder.journal import DiscardedRound
from app.run_folder.run import Run
from app.sweep.scheduling.exports import Exports
from app.sweep.scheduling.hosts import MAXIMUM_LOSSES, Hands, HostSlot, RemoteHost
from app.sweep.scheduling.round_budget import RoundPolicy, Tally
from app.sweep.scheduling.round_jobs import (
    Schedule,
    as_status,
    round_work,
    settled_round,
)
from app.sweep.scheduling.round_scheduler import GridScheduler
from app.sweep.work.base import WaitWork, Work
from app.sweep.work.remote_rounds import HostedRound, HostNews
from app.sweep.work.round import SettledRound
from app.tune.ablation import round_name
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.model_names import is_factory_file, is_hugging_face
from runtimes.base import Available, Unavailable
from runtimes.errors import RuntimeFault
from runtimes.registry import parse_spec


def refused_everywhere(
    case: Case, sites: Sequence[RemoteHost], send_code: bool
) -> tuple[Status, str] | None:
    """The status and the reason, in one sentence; None for a case that some host can measure."""
    name = parse_spec(case.runtime).name
    engine = runtime(name)
    try:
        engine.refuse_precision(case.precision)
    except RuntimeFault as fault:
        return as_status(fault.status), str(fault)
    if engine.builds_module and (reason := _code_obstacle(case, send_code)):
        return "unsupported", f"{name} {reason}"
    hosts = [site for site in sites if case.host in ("", site.host.name)]
    if not hosts:
        return "cancelled", f"{case.host} is not in the cluster: resume the run when it is there"
    states = {site.host.name: site.availability(case.runtime) for site in hosts}
    missing = {host: s for host, s in states.items() if isinstance(s, Unavailable)}
    if len(missing) < len(states):
        return None
    reason_text = "; ".join(f"{host}: {state.reason}" for host, state in missing.items())
    remedy = next(iter(missing.values())).remedy
    return "unavailable", f"no host has {case.runtime} ({reason_text}): {remedy}"


def _code_obstacle(case: Case, send_code: bool) -> str:
    """Why a module can't be built on another machine; empty if it can."""
    for model in (case.model, case.condition.model):
        if is_hugging_face(model):
            return f"builds {model} from a folder of this machine: remove it from --runtimes"
        if is_factory_file(model) and not send_code:
            return (
                f"would run {model} on other machines: add --send-code, or remove it from "
                "--runtimes"
            )
    return ""


MAXIMUM_ATTEMPTS = 3
"""A case in which so many hosts were lost is taken for what ends them."""


class _Loss(NamedTuple):
    """A host that was lost in a round of a case, with the error. Where the round had not
    begun there the case is not in doubt: a network that fails loses every host."""

    host: str
    round: int
    error: str
    has_begun: bool

    @property
    def text(self) -> str:
        return f"{self.host} was lost in its {round_name(self.round)} ({self.error})"


@dataclass
class HostedSweep(GridScheduler):
    """`recorded` has the rounds that are there; `left_out` tells who gets nothing more, and why."""

    schedule: Schedule
    recorded: Run
    round_policy: RoundPolicy
    slots: Sequence[HostSlot]
    left_out: list[str] = field(default_factory=list)
    _exports: Exports = field(init=False)
    _hands: Hands = field(default_factory=Hands)
    _open: dict[str, Case] = field(default_factory=dict)
    _tally: Tally = field(default_factory=Tally)
    _host_of_case: dict[str, str] = field(default_factory=dict)
    _attempts: dict[str, int] = field(default_factory=dict)
    _losses: dict[str, list[_Loss]] = field(default_factory=dict)
    _moves: dict[str, Diagnostic] = field(default_factory=dict)
    _ready: deque[SettledRound | HostNews] = field(default_factory=deque)
    _handed_out_s: dict[str, float] = field(default_factory=dict)
    _waiting: WaitWork | None = None

    def __post_init__(self) -> None:
        schedule = self.schedule
        self._exports = Exports(schedule)
        for case in schedule.cases:
            rounds = self.recorded.rounds.get(case.case_id, {}).values()
            counting = [result for result in rounds if not result.is_tried_again]
            has_ended = not TERMINAL.isdisjoint(result.status for result in counting)
            numbers = [result.round for result in counting]
            self._tally.add(
                case.case_id, self.round_policy.planned_rounds(case), numbers, has_ended
            )
            first_attempt = max((result.attempt for result in rounds), default=1)
            self._attempts[case.case_id] = max(
                first_attempt, self.recorded.void.get(case.case_id, 0) + 1
            )
            if counting:
                self._host_of_case[case.case_id] = self._recorded_host(case)
        self._open = {case.case_id: case for case in schedule.cases if self.rounds_left(case)}
        sites = [slot.site for slot in self.slots]
        send_code = any(slot.way.send_code for slot in self.slots)
        for case in self._open.values():
            refusal = refused_everywhere(case, sites, send_code)
            if refusal is not None:
                self._settle(case, *refusal)
        open_cases = [case for case in self._open.values() if self.rounds_left(case)]
        self._exports.queue(open_cases)
        self._hands.make(open_cases, len(self.slots))

    def next(self, finished: Sequence[Work]) -> Work | None:
        for finished_work in finished:
            self._exports.take(finished_work)
            if finished_work is self._waiting:
                self._waiting = None
            if isinstance(finished_work, HostedRound):
                self._take_round(finished_work)
            elif isinstance(finished_work, SettledRound):
                self.take(finished_work.result)
        if self._ready:
            return self._ready.popleft()
        if (export := self._exports.next()) is not None:
            return export
        if self._exports.in_flight:
            return None
        # Hosts of one machine take turns.
        waits: list[tuple[float, str]] = []
        for slot in sorted(
            self.slots, key=lambda candidate: self._handed_out_s.get(candidate.name, 0.0)
        ):
            if not slot.exclusion and not self.is_busy(slot):
                work = self._next_of(slot, waits)
                if work is not None:
                    return work
        if waits and self._waiting is None:
            seconds, reason = min(waits)
            self._waiting = WaitWork(time.monotonic() + seconds, reason)
            return self._waiting
        return None

    @property
    def spread_left_s(self) -> float:
        """How long the rounds that are left take at least, because they are spread."""
        slots = [slot for slot in self.slots if not slot.exclusion]
        if not slots:
            return 0.0
        others_s = self._hands.remaining / len(slots) * self.schedule.spread.left_s(0)
        return max(slot.spread_left_s for slot in slots) + others_s

    def is_busy(self, slot: HostSlot) -> bool:
        """Whether it or another host of its machine has a job."""
        return any(peer.is_measuring for peer in self.slots if peer.machine == slot.machine)

    def host_of(self, case: Case) -> str:
        """Which host has the rounds of a case; empty where none has."""
        return self._host_of_case.get(case.case_id, "")

    def attempt_of(self, case: Case) -> int:
        """How often the case was begun."""
        return self._attempts[case.case_id]

    @property
    def at_once(self) -> int:
        """How many rounds are measured at the same time, at most."""
        return max(1, len({slot.machine for slot in self.slots if not slot.exclusion}))

    def take(self, result: RoundResult) -> None:
        """What was cancelled has a round to come."""
        if result.status != "cancelled":
            super().take(result)

    def _recorded_host(self, case: Case) -> str:
        writer = self.recorded.writer_of(case)
        return writer.host if writer is not None else ""

    def _take_round(self, work: HostedRound) -> None:
        slot = next(slot for slot in self.slots if slot.name == work.host)
        slot.is_measuring = False
        if work.result is not None:
            slot.losses = 0
            self._host_of_case[work.result.case_id] = slot.name
            self.take(work.result)
            slot.spread.take(work.result)
            seconds = time.monotonic() - self._handed_out_s[slot.name]
            self.schedule.budget.learn(work.result.case_id, seconds)
        elif work.unsent:
            self._settle(work.case, "cancelled", work.unsent)
        elif work.lost:
            self._take_loss(slot, work)

    def _take_loss(self, slot: HostSlot, work: HostedRound) -> None:
        """The case begins again, elsewhere if it can; a host that is lost again is left out."""
        case, number = work.case, work.job.round
        slot.losses += 1
        losses = self._losses.setdefault(case.case_id, [])
        losses.append(_Loss(slot.name, number, work.lost, work.has_begun))
        if slot.losses >= MAXIMUM_LOSSES:
            slot.exclusion = work.lost
            sentence = (
                f"{slot.name} is left out: it was lost {MAXIMUM_LOSSES} times, last {work.lost}"
            )
            self._report(sentence)
            if all(item.exclusion for item in self.slots):
                self._report("no host is left: resume the run, with these or with --cluster others")
        self._attempts[case.case_id] += 1
        if len(losses) >= MAXIMUM_ATTEMPTS:
            sentence = "; ".join(loss.text for loss in losses)
            if all(loss.has_begun for loss in losses):
                self._settle(case, "crashed", f"{sentence}: measure this case alone")
            else:
                self._settle(case, "cancelled", f"{sentence}: resume the run")
        if case.host:
            self._continue_on_host(slot, case, number)
            return
        moved_cases = slot.leave() if slot.exclusion else [case]
        slot.hand = [item for item in slot.hand if item not in moved_cases]
        self._hands.put_first([item for item in moved_cases if self.rounds_left(item)])

    def _continue_on_host(self, slot: HostSlot, case: Case, number: int) -> None:
        """Where every host has cases of its own, no other can measure those of one that is lost."""
        if not slot.exclusion:
            slot.rounds.appendleft((case, number))
            return
        reason = f"{slot.name} was lost ({slot.exclusion}): resume the run when it is there"
        waiting = self._hands.take_out(lambda pending: pending.host == slot.name)
        for pending in (*slot.leave(), *waiting):
            if self.rounds_left(pending):
                self._settle(pending, "cancelled", reason)

    def _next_of(self, slot: HostSlot, waits: list[tuple[float, str]]) -> Work | None:
        """The next round there, of its hand or of another; what is settled needs no process. A pass
        that is to wait adds for how long and why to `waits`."""
        schedule = self.schedule
        while True:
            while slot.rounds or slot.queue(schedule.rounds, schedule.seed, self._lacks):
                spare_s = schedule.budget.spare_s(
                    self._tally.remaining, self._guess_s(slot.rounds[0][0])
                )
                if seconds := slot.wait_s(spare_s):
                    waits.append((seconds, slot.spread.reason))
                    return None
                case, number = slot.rounds.popleft()
                replies = self._exports.replies_of(case)
                if replies is None or not self._lacks(case, number):
                    continue
                reply, neighbour_reply = replies
                factory = partial(
                    HostedRound,
                    way=slot.way,
                    attempt=self._attempts[case.case_id],
                    warnings=self._warnings_of(case, slot),
                )
                work = round_work(
                    schedule,
                    case,
                    number,
                    reply,
                    neighbour_reply=neighbour_reply,
                    site=slot.site,
                    factory=factory,
                )
                if isinstance(work, SettledRound):
                    self._tally.end(case.case_id)
                    return self._mark_attempt(work)
                if schedule.budget.round_fits(case.case_id, self._guess_s(case)):
                    slot.is_measuring = True
                    self._handed_out_s[slot.name] = time.monotonic()
                    return work
            hand = self._hands.deal(lambda case: self._fits(case, slot))
            if not hand:
                return None
            for case in hand:
                self._move(case, slot)
            slot.take(hand, schedule.spread.renewed())
            if self._ready:  # what is void is told before it is measured again
                return self._ready.popleft()

    def _fits(self, case: Case, slot: HostSlot) -> bool:
        """Whether the case may be dealt there: not where it was lost while another could take it,
        and where it has rounds already while that host can."""
        capable = [
            candidate
            for candidate in self.slots
            if not candidate.exclusion and self._can_measure(case, candidate)
        ]
        if slot not in capable:
            return False
        case_id = case.case_id
        owners = [
            candidate for candidate in capable if candidate.name == self._host_of_case.get(case_id)
        ]
        lost_at = {loss.host for loss in self._losses.get(case_id, ())}
        safe = [candidate for candidate in capable if candidate.name not in lost_at]
        if lost_at:
            return slot in (safe or capable)
        return slot in (owners or capable)

    def _can_measure(self, case: Case, slot: HostSlot) -> bool:
        is_allowed = case.host in ("", slot.name)
        return is_allowed and isinstance(slot.site.availability(case.runtime), Available)

    def _move(self, case: Case, slot: HostSlot) -> None:
        """What another host has measured of the case is void, once this one begins it."""
        case_id = case.case_id
        previous, numbers = (
            self._host_of_case.get(case_id, slot.name),
            self._tally.recorded_of(case_id),
        )
        self._host_of_case[case_id] = slot.name
        if not numbers or previous == slot.name:
            return
        reason = (
            f"{previous or 'this machine'} is not at hand, and {slot.name} begins the case again"
        )
        if all(loss.host != previous for loss in self._losses.get(case_id, ())):  # else it is told
            subject = previous or "this machine"
            self._moves[case_id] = diagnostic("host_changed", subject, host=slot.name)
        recorded_rounds = self.recorded.rounds.get(case_id, {})
        last = max((recorded_rounds[n].attempt for n in numbers if n in recorded_rounds), default=1)
        self._attempts[case_id] = max(self._attempts[case_id], last + 1)
        void = self._attempts[case_id] - 1
        discarded_rounds = tuple(
            DiscardedRound(case_id, number, reason, void) for number in numbers
        )
        self._tally.void(case_id)
        self._tally.want(case_id, self.schedule.rounds)
        rounds = counted(len(discarded_rounds), "round")
        self._ready.append(
            HostNews(f"{rounds} of {case.model} do not count: {reason}", discarded_rounds)
        )

    def _warnings_of(self, case: Case, slot: HostSlot) -> tuple[Diagnostic, ...]:
        """Diagnostics of the hosts that the case was lost on, or was begun on before."""
        losses = self._losses.get(case.case_id, [])
        diagnostics = tuple(
            diagnostic(
                "host_lost", loss.host, round=loss.round + 1, error=loss.error, host=slot.name
            )
            for loss in losses
        )
        move_diagnostic = self._moves.get(case.case_id)
        return diagnostics if move_diagnostic is None else (*diagnostics, move_diagnostic)

    def _lacks(self, case: Case, number: int) -> bool:
        """Whether this round is one that the case is to have and has not."""
        return self._tally.lacks(case.case_id, number)

    def _report(self, sentence: str) -> None:
        """While it happens, and again at the end."""
        self.left_out.append(sentence)
        self._ready.append(HostNews(sentence))

    def _settle(self, case: Case, status: Status, reason: str) -> None:
        number = self._tally.first_missing(case.case_id)
        self._tally.end(case.case_id)
        work = settled_round(self.schedule, case, number, status, reason)
        self._ready.append(self._mark_attempt(work))

    def _mark_attempt(self, work: SettledRound) -> SettledRound:
        """What is void of earlier ones must not take this along."""
        work.result = replace(work.result, attempt=self.attempt_of(work.case))
        return work
