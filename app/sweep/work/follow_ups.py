"""Work after the rounds, one process each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from app.cases.case import Case
from app.cases.jobs import (
    AccuracyResult,
    ColdStart,
    OperatorTimes,
    Sensitivity,
)
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
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
