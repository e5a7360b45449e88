"""Operator times of each case after the rounds, on this machine or where its rounds ran."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from app.cases.case import Case
from app.cases.jobs import (
    OperatorJob,
)
from app.machine import installed_runtimes
from app.remote.contract import ENGINES
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.hosts import MAXIMUM_LOSSES, HostSlot
from app.sweep.scheduling.remote_grid import HostedSweep
from app.sweep.work.base import Needs, Source, Work
from app.sweep.work.follow_ups import OperatorWork
from app.sweep.work.remote_rounds import HostedOperators, HostNews
from runtimes.registry import parse_spec


class OperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how
    long they may take.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        finished_ids: Collection[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._waiting = deque(case for case in cases if case.case_id not in finished_ids)

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def _next_job(self) -> Work | None:
        while self._waiting:
            case = self._waiting[0]
            if case.case_id not in self._ran:
                self._waiting.popleft()
                continue
            outcome = self._model_or_export(case, self._waiting)
            if isinstance(outcome, Work):
                return outcome
            self._waiting.popleft()
            if outcome is not None:
                job = OperatorJob(case, outcome, str(installed_runtimes.folder()))
                return OperatorWork(job, self._time_limit_s, self._memory_limit_bytes)
        return None


class HostedOperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how long
    they may take. A case whose host is not at hand is left for a resume.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: HostedSweep,
        cases: Sequence[Case],
        finished_ids: Collection[str],
        ran: Iterable[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._hosted_source = source
        self._waiting = [case for case in cases if case.case_id not in finished_ids]

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        hosted_work = [work for work in finished_work if isinstance(work, HostedOperators)]
        for work in hosted_work:
            self._take(work)
        following = super().next([work for work in finished_work if work not in hosted_work])
        if isinstance(following, HostedOperators):
            self._in_flight -= 1  # while it runs, others may on other machines
        return following

    def _take(self, work: HostedOperators) -> None:
        slot = next(slot for slot in self._hosted_source.slots if slot.name == work.host)
        slot.is_measuring = False
        if not work.lost:
            slot.losses = 0
            return
        slot.losses += 1
        if slot.losses >= MAXIMUM_LOSSES:
            slot.exclusion = work.lost
        self._waiting.insert(0, work.job.case)

    def _next_job(self) -> Work | None:
        self._waiting = [case for case in self._waiting if case.case_id in self._ran]
        for case in self._waiting:
            slot = self._slot_of(case)
            if slot is None or self._hosted_source.is_busy(slot):
                continue
            outcome = self._model_or_export(case, self._waiting)
            if isinstance(outcome, Work):
                return outcome
            self._waiting.remove(case)
            if outcome is None:
                return self._next_job()
            slot.is_measuring = True
            spec = parse_spec(case.runtime)
            needs = Needs(
                slot.site.exclusive_resources(slot.site.engine(case.runtime), spec.device)
            )
            job = OperatorJob(case, outcome, ENGINES)
            return HostedOperators(
                job,
                self._time_limit_s,
                needs,
                slot.way,
                self._hosted_source.attempt_of(case),
                self._memory_limit_bytes,
            )
        return self._report_remaining()

    def _report_remaining(self) -> HostNews | None:
        """Once nothing is in flight: what no host that is here can tell."""
        if not self._waiting or any(slot.is_measuring for slot in self._hosted_source.slots):
            return None
        count, hosts = (
            len(self._waiting),
            dict.fromkeys(map(self._hosted_source.host_of, self._waiting)),
        )
        self._waiting = []
        cases = "case was" if count == 1 else "cases were"
        return HostNews(
            f"{count:,} {cases} not asked for operator times, which "
            f"{', '.join(filter(None, hosts)) or 'another machine'} measured: resume the run "
            "when it is there"
        )

    def _slot_of(self, case: Case) -> HostSlot | None:
        host = self._hosted_source.host_of(case)
        slots = (
            slot for slot in self._hosted_source.slots if slot.name == host and not slot.exclusion
        )
        return next(slots, None)


def follow_up_of(source: Source, state: RunState) -> FollowUp | None:
    """The cases that have no operator times; None where the plan wants none."""
    if not state.plan.profile_ops:
        return None
    results = state.recorded.operators.items()
    finished_ids = [case_id for case_id, entry in results if not entry.transient]
    cases, ran, limit_s = state.models, state.ran, state.recorded.manifest.time_limit_s
    limit_bytes = state.rounds.schedule.memory_limit_bytes
    if isinstance(state.rounds, HostedSweep):
        return HostedOperatorFollowUp(state.rounds, cases, finished_ids, ran, limit_s, limit_bytes)
    return OperatorFollowUp(source, cases, ran, finished_ids, limit_s, limit_bytes)
