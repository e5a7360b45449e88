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
from app.cases.status import ENDED, Status
from app.machine.installed_runtimes import runtime
from app.run_folder.journal import Voided
from app.run_folder.run import Run
from app.sweep.scheduling.grid import Exports
from app.sweep.scheduling.hosts import MOST_LOSSES, Bench, Hands, There
from app.sweep.scheduling.round_budget import Enough, Tally
from app.sweep.scheduling.round_jobs import (
    ROUND_OVERHEAD_S,
    Schedule,
    as_status,
    limits_under,
    round_work,
    settled,
)
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
    case: Case, sites: Sequence[There], send_code: bool
) -> tuple[Status, str] | None:
    """The status and the reason, in one sentence; None for a case that some host can measure."""
    name = parse_spec(case.runtime).name
    engine = runtime(name)
    try:
        engine.refuse_precision(case.precision)
    except RuntimeFault as fault:
        return as_status(fault.status), str(fault)
    if engine.builds_module and (reason := _of_code(case, send_code)):
        return "unsupported", f"{name} {reason}"
    hosts = [site for site in sites if case.host in ("", site.host.name)]
    if not hosts:
        return "cancelled", f"{case.host} is not in the cluster: resume the run when it is there"
    states = {site.host.name: site.availability(case.runtime) for site in hosts}
    missing = {host: s for host, s in states.items() if isinstance(s, Unavailable)}
    if len(missing) < len(states):
        return None
    told = "; ".join(f"{host}: {state.reason}" for host, state in missing.items())
    remedy = next(iter(missing.values())).remedy
    return "unavailable", f"no host has {case.runtime} ({told}): {remedy}"


def _of_code(case: Case, send_code: bool) -> str:
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


MOST_ATTEMPTS = 3
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


@dataclass(slots=True)
class HostedSweep:
    """`recorded` has the rounds that are there; `left_out` tells who gets nothing more, and why."""

    schedule: Schedule
    recorded: Run
    enough: Enough
    benches: Sequence[Bench]
    left_out: list[str] = field(default_factory=list)
    _exports: Exports = field(init=False)
    _hands: Hands = field(default_factory=Hands)
    _open: dict[str, Case] = field(default_factory=dict)
    _tally: Tally = field(default_factory=Tally)
    _belongs: dict[str, str] = field(default_factory=dict)
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
            ended = not ENDED.isdisjoint(result.status for result in counting)
            numbers = [result.round for result in counting]
            self._tally.add(case.case_id, self.enough.wanted(case), numbers, ended)
            begun = max((result.attempt for result in rounds), default=1)
            self._attempts[case.case_id] = max(begun, self.recorded.void.get(case.case_id, 0) + 1)
            if counting:
                self._belongs[case.case_id] = self._recorded_host(case)
        self._open = {case.case_id: case for case in schedule.cases if self.rounds_left(case)}
        sites = [bench.site for bench in self.benches]
        send_code = any(bench.way.send_code for bench in self.benches)
        for case in self._open.values():
            refused = refused_everywhere(case, sites, send_code)
            if refused is not None:
                self._settle(case, *refused)
        left = [case for case in self._open.values() if self.rounds_left(case)]
        self._exports.queue(left)
        self._hands.make(left, len(self.benches))

    def next(self, finished: Sequence[Work]) -> Work | None:
        for over in finished:
            self._exports.take(over)
            if over is self._waiting:
                self._waiting = None
            if isinstance(over, HostedRound):
                self._take_round(over)
            elif isinstance(over, SettledRound):
                self.take(over.result)
        if self._ready:
            return self._ready.popleft()
        if (export := self._exports.next()) is not None:
            return export
        if self._exports.in_flight:
            return None
        # Hosts of one machine take turns.
        waits_s: list[float] = []
        for bench in sorted(self.benches, key=lambda one: self._handed_out_s.get(one.name, 0.0)):
            if not bench.out and not self.is_busy(bench):
                work = self._next_of(bench, waits_s)
                if work is not None:
                    return work
        if waits_s and self._waiting is None:
            self._waiting = WaitWork(time.monotonic() + min(waits_s))
            return self._waiting
        return None

    @property
    def spread_left_s(self) -> float:
        """How long the rounds that are left take at least, because they are spread."""
        benches = [bench for bench in self.benches if not bench.out]
        if not benches:
            return 0.0
        others_s = self._hands.left / len(benches) * self.schedule.spread.left_s(0)
        return max(bench.spread_left_s for bench in benches) + others_s

    def is_busy(self, bench: Bench) -> bool:
        """Whether it or another host of its machine has a job."""
        return any(one.is_measuring for one in self.benches if one.machine == bench.machine)

    def host_of(self, case: Case) -> str:
        """Which host has the rounds of a case; empty where none has."""
        return self._belongs.get(case.case_id, "")

    def attempt_of(self, case: Case) -> int:
        """How often the case was begun."""
        return self._attempts[case.case_id]

    def wanted(self, case: Case) -> int:
        """How many rounds the case is to have, as far as is known now."""
        return self._tally.wanted_of(case.case_id)

    def rounds_left(self, case: Case) -> int:
        """How many processes this case still needs; 0 once it has failed."""
        return self._tally.left_of(case.case_id)

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return self._exports.left

    def all_rounds_left(self) -> int:
        """How many rounds of all cases are still to be measured."""
        return self._tally.left

    def rounds_total(self, recorded: int) -> int:
        """How many rounds the cases are to have, as far as is known; `recorded` are on disk."""
        return self._tally.wanted

    @property
    def at_once(self) -> int:
        """How many rounds are measured at the same time, at most."""
        return max(1, len({bench.machine for bench in self.benches if not bench.out}))

    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""
        counts = result.status != "cancelled"
        if not (counts and self._tally.take(result.case_id, result.round)):
            return
        if result.status in ENDED:
            self._tally.end(result.case_id)
        else:
            self._tally.want(result.case_id, self.enough.wanted(self._open[result.case_id]))

    def _recorded_host(self, case: Case) -> str:
        writer = self.recorded.writer_of(case)
        return writer.host if writer is not None else ""

    def _take_round(self, work: HostedRound) -> None:
        bench = next(bench for bench in self.benches if bench.name == work.host)
        bench.is_measuring = False
        if work.result is not None:
            bench.losses = 0
            self._belongs[work.result.case_id] = bench.name
            self.take(work.result)
            seconds = time.monotonic() - self._handed_out_s[bench.name]
            self.schedule.budget.learn(work.result.case_id, seconds)
        elif work.unsent:
            self._settle(work.case, "cancelled", work.unsent)
        elif work.lost:
            self._take_loss(bench, work)

    def _take_loss(self, bench: Bench, work: HostedRound) -> None:
        """The case begins again, elsewhere if it can; a host that is lost again is left out."""
        case, number = work.case, work.job.round
        bench.losses += 1
        losses = self._losses.setdefault(case.case_id, [])
        losses.append(_Loss(bench.name, number, work.lost, work.has_begun))
        if bench.losses >= MOST_LOSSES:
            bench.out = work.lost
            told = f"{bench.name} is left out: it was lost {MOST_LOSSES} times, last {work.lost}"
            self._tell(told)
            if all(one.out for one in self.benches):
                self._tell("no host is left: resume the run, with these or with --cluster others")
        self._attempts[case.case_id] += 1
        if len(losses) >= MOST_ATTEMPTS:
            told = "; ".join(loss.text for loss in losses)
            if all(loss.has_begun for loss in losses):
                self._settle(case, "crashed", f"{told}: measure this case alone")
            else:
                self._settle(case, "cancelled", f"{told}: resume the run")
        if case.host:
            self._go_on_there(bench, case, number)
            return
        moved = bench.leave() if bench.out else [case]
        bench.hand = [one for one in bench.hand if one not in moved]
        self._hands.put_first([one for one in moved if self.rounds_left(one)])

    def _go_on_there(self, bench: Bench, case: Case, number: int) -> None:
        """Where every host has cases of its own, no other can measure those of one that is lost."""
        if not bench.out:
            bench.rounds.appendleft((case, number))
            return
        reason = f"{bench.name} was lost ({bench.out}): resume the run when it is there"
        waiting = self._hands.take_out(lambda one: one.host == bench.name)
        for one in (*bench.leave(), *waiting):
            if self.rounds_left(one):
                self._settle(one, "cancelled", reason)

    def _next_of(self, bench: Bench, waits_s: list[float]) -> Work | None:
        """The next round there, of its hand or of another; what is settled needs no process. A pass
        that is to wait adds for how long to `waits_s`."""
        schedule = self.schedule
        while True:
            while bench.rounds or bench.queue(schedule.rounds, schedule.seed, self._lacks):
                spare_s = schedule.budget.spare_s(
                    self._tally.left, self._guess_s(bench.rounds[0][0])
                )
                if seconds := bench.wait_s(spare_s):
                    waits_s.append(seconds)
                    return None
                case, number = bench.rounds.popleft()
                known = self._exports.of(case)
                if known is None or not self._lacks(case, number):
                    continue
                reply, beside = known
                made = partial(
                    HostedRound,
                    way=bench.way,
                    attempt=self._attempts[case.case_id],
                    warnings=self._warnings_of(case, bench),
                )
                work = round_work(
                    schedule, case, number, reply, beside=beside, site=bench.site, made=made
                )
                if isinstance(work, SettledRound):
                    self._tally.end(case.case_id)
                    return self._of_this_attempt(work)
                if schedule.budget.round_fits(case.case_id, self._guess_s(case)):
                    bench.is_measuring = True
                    self._handed_out_s[bench.name] = time.monotonic()
                    return work
            hand = self._hands.deal(lambda case: self._fits(case, bench))
            if not hand:
                return None
            for case in hand:
                self._move(case, bench)
            bench.take(hand, schedule.spread.renewed())
            if self._ready:  # what is void is told before it is measured again
                return self._ready.popleft()

    def _fits(self, case: Case, bench: Bench) -> bool:
        """Whether the case may be dealt there: not where it was lost while another could take it,
        and where it has rounds already while that host can."""
        able = [one for one in self.benches if not one.out and self._can(case, one)]
        if bench not in able:
            return False
        case_id = case.case_id
        kept = [one for one in able if one.name == self._belongs.get(case_id)]
        lost_at = {loss.host for loss in self._losses.get(case_id, ())}
        unspoilt = [one for one in able if one.name not in lost_at]
        if lost_at:
            return bench in (unspoilt or able)
        return bench in (kept or able)

    def _can(self, case: Case, bench: Bench) -> bool:
        here = case.host in ("", bench.name)
        return here and isinstance(bench.site.availability(case.runtime), Available)

    def _move(self, case: Case, bench: Bench) -> None:
        """What another host has measured of the case is void, once this one begins it."""
        case_id = case.case_id
        before, known = self._belongs.get(case_id, bench.name), self._tally.known_of(case_id)
        self._belongs[case_id] = bench.name
        if not known or before == bench.name:
            return
        why = f"{before or 'this machine'} is not at hand, and {bench.name} begins the case again"
        if all(loss.host != before for loss in self._losses.get(case_id, ())):  # else it is told
            subject = before or "this machine"
            self._moves[case_id] = diagnostic("host_changed", subject, host=bench.name)
        recorded = self.recorded.rounds.get(case_id, {})
        last = max((recorded[n].attempt for n in known if n in recorded), default=1)
        self._attempts[case_id] = max(self._attempts[case_id], last + 1)
        void = self._attempts[case_id] - 1
        voided = tuple(Voided(case_id, number, why, void) for number in known)
        self._tally.void(case_id)
        self._tally.want(case_id, self.schedule.rounds)
        rounds = f"{len(voided)} round{'s' * (len(voided) > 1)}"
        self._ready.append(HostNews(f"{rounds} of {case.model} do not count: {why}", voided))

    def _warnings_of(self, case: Case, bench: Bench) -> tuple[Diagnostic, ...]:
        """Diagnostics of the hosts that the case was lost on, or was begun on before."""
        losses = self._losses.get(case.case_id, [])
        lost = tuple(
            diagnostic(
                "host_lost", loss.host, round=loss.round + 1, error=loss.error, host=bench.name
            )
            for loss in losses
        )
        moved = self._moves.get(case.case_id)
        return lost if moved is None else (*lost, moved)

    def _guess_s(self, case: Case) -> float:
        """How long a round takes of which nothing is known."""
        return limits_under(case.condition, self.schedule.limits).min_s + ROUND_OVERHEAD_S

    def _lacks(self, case: Case, number: int) -> bool:
        """Whether this round is one that the case is to have and has not."""
        return self._tally.lacks(case.case_id, number)

    def _tell(self, said: str) -> None:
        """While it happens, and again at the end."""
        self.left_out.append(said)
        self._ready.append(HostNews(said))

    def _settle(self, case: Case, status: Status, reason: str) -> None:
        number = self._tally.first_missing(case.case_id)
        self._tally.end(case.case_id)
        known = settled(self.schedule, case, number, status, reason)
        self._ready.append(self._of_this_attempt(known))

    def _of_this_attempt(self, work: SettledRound) -> SettledRound:
        """What is void of earlier ones must not take this along."""
        work.result = replace(work.result, attempt=self.attempt_of(work.case))
        return work
