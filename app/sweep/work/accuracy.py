"""The top-1 accuracy of one subject, in a process of its own after the rounds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from app.cases.accuracy import AccuracyJob, AccuracyResult
from app.results import text
from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames, case_label
from app.results.lines import Line
from app.results.live import Live
from app.sweep.work.follow_up import FollowUpWork
from exporters.codec import from_json, to_json


class AccuracyWork(FollowUpWork[AccuracyResult]):
    """Its time limit counts from the last sign of life; `case_id` is a case of the subject."""

    kind = "accuracy"
    process_name = "the accuracy process"

    def __init__(
        self, job: AccuracyJob, case_id: str, time_limit_s: float, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(time_limit_s, job.subject.runtime, memory_limit_bytes)
        self.job, self.case_id = job, case_id
        self.images = 0

    def begun(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.case_id, None, self.kind)
        return ()

    def told(self, folder: RunFolder, live: Live) -> None:
        live.iterations = self.images

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            yield self.result

    @property
    def failed(self) -> bool:
        return self.result is None or self.result.top1 is None

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        said, result = f"accuracy of {case_label(self.job.subject, models)}", self.result
        if result is None:
            return f"{said} was not measured: {self._why_dropped}"
        if result.top1 is None:
            return f"{said}: {result.reason}"
        return f"{said}: {100 * result.top1:.1f} % of {text.count(result.images)} images"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "result":
            self.result = from_json(AccuracyResult, message, finite=True)
        elif event == "progress":
            self.images = int(message.get("images", 0))
            self._deadline = time.monotonic() + self.time_limit_s

    def _failure(self, reason: str, transient: bool) -> AccuracyResult:
        subject, data = self.job.subject.case_id, self.job.data
        return AccuracyResult(subject, data, reason=reason, transient=transient)

    def _overrun(self) -> str:
        return f"{self.process_name} was silent for {self.time_limit_s:g} s"
