"""What accuracies, cold starts and operator times have in common: one process after the rounds,
whose result has a reason where there is nothing else to report."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

from app.cases.accuracy import AccuracyResult
from app.cases.cold_start import ColdStart
from app.cases.operators import OperatorTimes
from app.sweep.work.process import STOPPED, ProcessWork, is_of_circumstance

Result = TypeVar("Result", AccuracyResult, ColdStart, OperatorTimes)


class FollowUpWork(ProcessWork, Generic[Result]):
    """`result` is there once it is over and counts; a transient one is tried again by a resume.

    `process_name` is what messages call its process.
    """

    process_name: ClassVar[str]
    result: Result | None = None

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
        return f"{name} ended with {worker.how_it_ended()}", is_of_circumstance(worker)

    def _overrun(self) -> str:
        """That its time was over."""
        return f"{self.process_name} took longer than {self.time_limit_s:g} s"
