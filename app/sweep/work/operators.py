"""The operator times of one case, in a process of its own after the rounds, never timed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.cases.operators import OperatorJob, OperatorTimes
from app.results import text
from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames, case_label
from app.results.lines import Line
from app.results.live import Live
from app.results.operators import write_operators
from app.sweep.work.follow_up import FollowUpWork
from exporters.codec import from_json, to_json


class OperatorWork(FollowUpWork[OperatorTimes]):
    """`result` has the times, or the reason why there are none."""

    kind = "operators"
    process_name = "the process that measures operator times"

    def __init__(self, job: OperatorJob, time_limit_s: float, memory_limit_bytes: int = 0) -> None:
        super().__init__(time_limit_s, job.case.runtime, memory_limit_bytes)
        self.job = job

    def begun(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.job.case.case_id, None, self.kind)
        return ()

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            yield write_operators(folder, self.result)

    @property
    def failed(self) -> bool:
        return self.result is None or not self.result.ops

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        said, result = f"operators of {case_label(self.job.case, models)}", self.result
        if result is None:
            return f"{said} were not reported: {self._why_dropped}"
        if not result.ops:
            return f"{said} were not reported"
        return f"{said}: {len(result.ops)} in {text.latency(result.total_us)}"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "result":
            self.result = from_json(OperatorTimes, message, finite=True)

    def _failure(self, reason: str, transient: bool) -> OperatorTimes:
        return OperatorTimes(self.job.case.case_id, reason=reason, transient=transient)
