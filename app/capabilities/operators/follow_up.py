"""Operator times after the rounds: a process with the engine's profiler for each case."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from app.cases.jobs import (
    OperatorJob,
    OperatorTimes,
)
from app.formatting import text
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine import installed_runtimes
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.run_folder.operators import write_operators
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Work
from app.sweep.work.process import FollowUpWork


class OperatorWork(FollowUpWork[OperatorTimes]):
    """`result` has the times, or the reason why there are none."""

    kind = "operators"
    result_type = OperatorTimes
    process_name = "the process that measures operator times"
    job: OperatorJob

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            yield write_operators(folder, self.result)

    @property
    def failed(self) -> bool:
        return self.result is None or not self.result.ops

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        label, result = f"operators of {case_label(self.job.case, models)}", self.result
        if result is None:
            return f"{label} were not reported: {self._why_dropped}"
        if not result.ops:
            return f"{label} were not reported"
        return f"{label}: {len(result.ops)} in {text.latency(result.total_us)}"

    def _failure(self, reason: str, transient: bool) -> OperatorTimes:
        return OperatorTimes(self.job.case.case_id, reason=reason, transient=transient)


class OperatorFollowUp(FollowUp):
    """The operator times of each case that has none."""

    kind = OperatorWork.kind

    def __init__(self, state: RunState) -> None:
        super().__init__(state)
        recorded = state.recorded.operators
        finished_ids = [case_id for case_id, entry in recorded.items() if not entry.transient]
        self._waiting = deque(c for c in state.models if c.case_id not in finished_ids)

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def next(self) -> Work | None:
        while self._waiting:
            case = self._waiting[0]
            if case.case_id not in self.ran:
                self._waiting.popleft()
                continue
            outcome = self._model_or_export(case, self._waiting)
            if isinstance(outcome, Work):
                return outcome
            self._waiting.popleft()
            if outcome is not None:
                job = OperatorJob(case, outcome, str(installed_runtimes.folder()))
                return OperatorWork(job, case, self.time_limit_s, self.memory_limit_bytes)
        return None


def operator_follow_up(state: RunState) -> FollowUp | None:
    """The cases that have no operator times; None where the plan wants none."""
    if not state.plan.profile_ops or isinstance(state.rounds, SharedSweep):
        return None  # hosts ask for those of their shares
    return OperatorFollowUp(state)
