"""Accuracies after the rounds: a process for each model and runtime with labelled data."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

from app.cases.case import Case
from app.cases.jobs import (
    AccuracyJob,
    AccuracyResult,
    subject_of,
)
from app.formatting import text
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine import installed_runtimes
from app.plan.models import data_for
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Work
from app.sweep.work.process import FollowUpWork
from runtimes.options import SESSIONS


class AccuracyWork(FollowUpWork[AccuracyResult]):
    """Its time limit counts from the last sign of life."""

    kind = "accuracy"
    result_type = AccuracyResult
    process_name = "the accuracy process"
    job: AccuracyJob

    def __init__(
        self, job: AccuracyJob, case_id: str, time_limit_s: float, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(job, job.subject, time_limit_s, memory_limit_bytes)
        self.case_id, self.images = case_id, 0

    def on_progress(self, folder: RunFolder, live: Live) -> None:
        live.iterations = self.images

    @property
    def failed(self) -> bool:
        return self.result is None or self.result.top1 is None

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        label, result = f"accuracy of {case_label(self.job.subject, models)}", self.result
        if result is None:
            return f"{label} was not measured: {self._why_dropped}"
        if result.top1 is None:
            return f"{label}: {result.reason}"
        return f"{label}: {100 * result.top1:.1f} % of {text.count(result.images)} images"

    def _take(self, event: str, message: dict[str, Any]) -> None:
        super()._take(event, message)
        if event == "progress":
            self.images = int(message.get("images", 0))
            self._deadline = time.monotonic() + self.time_limit_s

    def _failure(self, reason: str, transient: bool) -> AccuracyResult:
        subject, data = self.job.subject.case_id, self.job.data
        return AccuracyResult(subject, data, reason=reason, transient=transient)

    def _overrun(self) -> str:
        return f"{self.process_name} was silent for {self.time_limit_s:g} s"


class AccuracyFollowUp(FollowUp):
    """The accuracy of each subject that has none; after the rounds more cases may be known."""

    kind = AccuracyWork.kind

    def __init__(self, state: RunState) -> None:
        super().__init__(state)
        self._labelled_data = state.plan.accuracy
        self._late_cases: Callable[[], Iterable[Case]] = state.rounds.late_cases
        self._waiting: deque[tuple[Case, str]] = deque()
        self._subjects = Counter[tuple[object, ...]]()
        recorded = state.recorded.result_by_subject(AccuracyResult)
        self._finished_ids = {subject for subject, entry in recorded.items() if not entry.transient}
        self._await(state.models)

    @property
    def remaining(self) -> int:
        return len(self._subjects)

    def next(self) -> Work | None:
        cases, self._late_cases = self._late_cases(), tuple
        self._await(cases)
        while self._waiting:
            case, data = self._waiting[0]
            if case.case_id not in self.ran:
                self._drop_first()
                continue
            reply = self.exports.models.get((case.model, case.precision))
            if reply is None:
                # A resumed run whose rounds are all there has exported nothing yet.
                return self._export(case, [case.axes])
            self._drop_first()
            if reply.model is None:
                continue
            subject = subject_of(case, reply.model)
            if subject.case_id not in self._finished_ids:
                self._finished_ids.add(subject.case_id)
                job = AccuracyJob(subject, reply.model, data, str(installed_runtimes.folder()))
                return AccuracyWork(job, case.case_id, self.time_limit_s, self.memory_limit_bytes)
        return None

    def _await(self, cases: Iterable[Case]) -> None:
        """Take those of the cases whose models have labelled data."""
        data: dict[str, str] = {}
        for case in cases:
            if case.model not in data:
                data[case.model] = data_for(case.model, self._labelled_data)
            if data[case.model]:
                self._waiting.append((case, data[case.model]))
                self._subjects[_subject_key(case)] += 1

    def _drop_first(self) -> None:
        case, _ = self._waiting.popleft()
        subject = _subject_key(case)
        self._subjects[subject] -= 1
        if not self._subjects[subject]:
            del self._subjects[subject]


def _subject_key(case: Case) -> tuple[object, ...]:
    """What cases of one subject have in common, known before their model is there."""
    sizes = tuple((name, size) for name, size in case.axes.items() if name != "batch")
    options = tuple((name, value) for name, value in case.options.items() if name != SESSIONS.name)
    return case.model, case.precision, case.runtime, sizes, options


def accuracy_follow_up(state: RunState) -> AccuracyFollowUp | None:
    """The subjects that have no accuracy; None on other machines."""
    return None if isinstance(state.rounds, SharedSweep) else AccuracyFollowUp(state)
