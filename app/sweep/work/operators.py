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
from app.sweep.work.process import STOPPED, ProcessWork
from exporters.codec import from_json, to_json


class OperatorWork(ProcessWork):
    """`result` has the times, or the reason why there are none."""

    kind = "operators"

    def __init__(self, job: OperatorJob, time_limit_s: float) -> None:
        super().__init__(time_limit_s, job.case.runtime)
        self.job = job
        self.result: OperatorTimes | None = None

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
            return f"{said} were not told: {self._why_dropped}"
        if not result.ops:
            return f"{said} were not told"
        return f"{said}: {len(result.ops)} in {text.latency(result.total_us)}"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "result":
            self.result = from_json(OperatorTimes, message, finite=True)

    def _settle(self) -> None:
        if self._stopping:
            self._why_dropped, self.result = STOPPED, None
        elif self.result is None:
            self.result = OperatorTimes(self.job.case.case_id, reason=self._why_none())

    def _why_none(self) -> str:
        if self._worker.ran_out_of_memory():
            return "the system ended the process that asks for operator times for want of memory"
        if self._too_late:
            return f"the operator times took longer than {self.time_limit_s:g} s"
        return f"the process that asks for operator times ended with {self._worker.how_it_ended()}"
