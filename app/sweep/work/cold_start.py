"""One process that starts cold, after the rounds, with the machine to itself."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.cases.cold_start import SCOUT, ColdStart, ColdStartJob
from app.results import text
from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames, case_label
from app.results.lines import Line
from app.results.live import Live
from app.sweep.work.base import Needs, Starter
from app.sweep.work.follow_up import FollowUpWork
from exporters.codec import from_json, to_json


class ColdStartWork(FollowUpWork[ColdStart]):
    """`result` has the phases, or the reason why there are none. A scout's is not recorded."""

    kind = "cold_start"
    process_name = "the cold start's process"

    def __init__(
        self, job: ColdStartJob, time_limit_s: float, needs: Needs, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(time_limit_s, job.subject.runtime, memory_limit_bytes)
        self.job, self.needs = job, needs

    def start(self, place: Starter) -> None:
        # The clock starts with the process; a place on another machine has another clock.
        self.job = replace(self.job, begun_ns=time.monotonic_ns())
        super().start(place)

    def begun(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.job.subject.case_id, None, self.kind)
        return ()

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None and (self.job.process != SCOUT or self.result.reason):
            yield self.result

    @property
    def failed(self) -> bool:
        return self.result is None or bool(self.result.reason)

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        which = "before the first" if self.job.process == SCOUT else f"{self.job.process + 1}"
        said, result = f"cold start {which} of {case_label(self.job.subject, models)}", self.result
        if result is None:
            return f"{said} was not finished: {self._why_dropped}"
        if result.reason:
            return f"{said} gave no answer"
        return f"{said}: {text.time_text(result.total_ms / 1e3)}"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "result":
            self.result = from_json(ColdStart, message, finite=True)

    def _failure(self, reason: str, transient: bool) -> ColdStart:
        subject, process = self.job.subject.case_id, self.job.process
        return ColdStart(subject, process, reason=reason, transient=transient)
