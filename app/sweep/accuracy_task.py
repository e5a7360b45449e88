"""An accuracy process at work: how far it is, and its end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from app.cases.accuracy import AccuracyResult
from app.sweep.events import AccuracyFinished, AccuracyProgress, Event
from app.sweep.jobs import Assessed, AssessJob
from app.sweep.tasks import ProcessTask


class AssessTask(ProcessTask):
    """One subject; its time limit counts from the last sign of life, not from the start."""

    def __init__(self, job: AssessJob, command: Sequence[str]) -> None:
        super().__init__(command, job.accuracy.to_json(), job.time_limit_s)
        self.job = job
        self.outcome: Assessed | None = None
        self._result: AccuracyResult | None = None

    def _take(self, kind: str, message: Mapping[str, Any]) -> list[Event]:
        if kind == "result":
            self._result = AccuracyResult.from_json(message)
            return []
        self._deadline = time.monotonic() + self.job.time_limit_s
        return [AccuracyProgress(self.job, message["images"])]

    def _settle(self) -> list[Event]:
        if self._stopping:
            return []
        result = self._result or self._without_result()
        self.outcome = Assessed(self.job, result)
        return [AccuracyFinished(self.job, result)]

    def _without_result(self) -> AccuracyResult:
        reason = f"the accuracy process ended with {self._child.how_it_ended()}"
        if self._child.ran_out_of_memory():
            reason = "the system ended the accuracy process for want of memory"
        elif self._kill_at is not None:
            reason = f"the accuracy process was silent for {self.job.time_limit_s:g} s"
        accuracy = self.job.accuracy
        return AccuracyResult(accuracy.subject.case_id, accuracy.data, reason=reason)
