"""Operator times of each case after the rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from app.cases.case import Case
from app.cases.jobs import (
    OperatorJob,
)
from app.machine import installed_runtimes
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Source, Work
from app.sweep.work.follow_ups import OperatorWork


class OperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case not yet in
    `finished_ids`.

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


def follow_up_of(source: Source, state: RunState) -> FollowUp | None:
    """The cases that have no operator times; None where the plan wants none."""
    if not state.plan.profile_ops or isinstance(state.rounds, SharedSweep):
        return None  # hosts ask for those of their shares
    results = state.recorded.operators.items()
    finished_ids = [case_id for case_id, entry in results if not entry.transient]
    cases, ran, limit_s = state.models, state.ran, state.recorded.manifest.time_limit_s
    limit_bytes = state.rounds.schedule.memory_limit_bytes
    return OperatorFollowUp(source, cases, ran, finished_ids, limit_s, limit_bytes)
