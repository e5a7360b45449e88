"""Follow-up work after the rounds, one process each: accuracy, cold start, operator times, and what
assumed values come to."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    AccuracyJob,
    AccuracyResult,
    ColdStart,
    ColdStartJob,
    OperatorJob,
    OperatorTimes,
    Sensitivity,
    SensitivityJob,
)
from app.formatting import text
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.run_folder.operators import write_operators
from app.sweep.work.base import Needs
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.process import STOPPED, ProcessWork, is_transient_end
from exporters.codec import from_json, to_json

Result = TypeVar("Result", AccuracyResult, ColdStart, OperatorTimes, Sensitivity)


class FollowUpWork(ProcessWork, Generic[Result]):
    """`result` is there once it is over and counts; a transient one is tried again by a resume.

    `process_name` is what messages call its process, `case_id` is a case that it is of.
    """

    process_name: ClassVar[str]
    result_type: ClassVar[type[Any]]
    job: Any
    result: Result | None = None

    def __init__(
        self, job: Any, case: Case, time_limit_s: float, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(time_limit_s, case.runtime, memory_limit_bytes)
        self.job, self.case_id = job, case.case_id

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            line: Any = self.result
            yield line

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.case_id, None, self.kind)
        return ()

    @property
    def failed(self) -> bool:
        return self.result is None or bool(self.result.reason)

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "result":
            self.result = from_json(self.result_type, message, finite=True)

    def _settle(self) -> None:
        if self._stopping:
            self._why_dropped, self.result = STOPPED, None
        elif self.result is None or self._broke_its_memory_limit:
            self.result = self._failure(*self._cause())

    @abstractmethod
    def _failure(self, reason: str, transient: bool) -> Result:
        """The result of a process that ended without one."""

    def _cause(self) -> tuple[str, bool]:
        """Why there is no result, and whether that says nothing of the case.

        A limit of time is one of the machine's load too. The plan's limit of memory is not: a
        resume has the same.
        """
        worker, name = self._worker, self.process_name
        if self._broke_its_memory_limit:
            limit_mib = self.memory_limit_bytes / 2**20
            reason = f"{name} held more than {limit_mib:,.0f} MiB of the host's memory"
            return f"{reason}: raise --memory-limit", False
        if worker.ran_out_of_memory():
            return f"the system ended {name} for want of memory: resume the run", True
        if self._too_late:
            return f"{self._overrun()}: resume the run, or raise --time-limit", True
        return f"{name} ended with {worker.how_it_ended()}", is_transient_end(worker)

    def _overrun(self) -> str:
        """That its time was over."""
        return f"{self.process_name} took longer than {self.time_limit_s:g} s"


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


class ColdStartWork(FollowUpWork[ColdStart]):
    """`result` has the phases, or the reason why there are none. A scout's is not recorded."""

    kind = "cold_start"
    result_type = ColdStart
    process_name = "the cold start's process"
    job: ColdStartJob

    def __init__(
        self, job: ColdStartJob, time_limit_s: float, needs: Needs, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(job, job.subject, time_limit_s, memory_limit_bytes)
        self.needs = needs

    def start(self, place: ThisMachine) -> None:
        self.job = replace(self.job, begun_ns=time.monotonic_ns())
        super().start(place)

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None and (self.job.process != SCOUT or self.result.reason):
            yield self.result

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        process_text = (
            "before the first" if self.job.process == SCOUT else f"{self.job.process + 1}"
        )
        label, result = (
            f"cold start {process_text} of {case_label(self.job.subject, models)}",
            self.result,
        )
        if result is None:
            return f"{label} was not finished: {self._why_dropped}"
        if result.reason:
            return f"{label} gave no answer"
        return f"{label}: {text.time_text(result.total_ms / 1e3)}"

    def _failure(self, reason: str, transient: bool) -> ColdStart:
        subject, process = self.job.subject.case_id, self.job.process
        return ColdStart(subject, process, reason=reason, transient=transient)


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


class SensitivityWork(FollowUpWork[Sensitivity]):
    """`result` has what twice an assumed value comes to."""

    kind = "sensitivity"
    result_type = Sensitivity
    process_name = "the process that doubles assumed values"
    job: SensitivityJob

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        label, result = f"assumed values of {case_label(self.job.case, models)}", self.result
        if result is None:
            return f"{label} were not doubled: {self._why_dropped}"
        return f"{label}: {result.reason or f'{len(result.factors)} doubled'}"

    def _failure(self, reason: str, transient: bool) -> Sensitivity:
        return Sensitivity(self.case_id, {}, len(self.job.names), reason, transient)
