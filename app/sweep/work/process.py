"""Work by a worker of its own, and by one that serves many: a job in, lines out, a deadline, its
end."""

from __future__ import annotations

import json
import math
import time
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
from app.cases.telemetry import Reading
from app.machine.child import Unstarted, Worker
from app.machine.telemetry import Watch
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.sweep.work.base import News, Work
from app.sweep.work.local_executor import ThisMachine
from exporters.codec import CodecError, from_json, object_of, to_json
from runtimes.registry import environment_of

GRACE_S = 3.0
"""How long a worker may take to end after it was asked to, before it is killed."""
STOP_GRACE_S = 10.0
STOPPED = "the sweep was stopped"


def is_transient_end(worker: Worker) -> bool:
    """Whether a worker that ended without a result could not start or was ended from outside, by a
    person or for want of memory: that says nothing of its case."""
    return isinstance(worker, Unstarted) or worker.ran_out_of_memory() or worker.was_killed()


class ServedWork(Work):
    """Work by a worker that serves many, one request each. Its process is ended after
    `time_limit_s`, and once `_watch` finds that it holds too much memory."""

    def __init__(self, time_limit_s: float, memory_limit_bytes: int = 0) -> None:
        self.time_limit_s, self._memory_limit_bytes = time_limit_s, memory_limit_bytes
        self._watch: Watch | None = None
        self._place: ThisMachine | None = None
        self._server: Worker | None = None
        self._deadline = 0.0
        self._stopping = False

    def due(self) -> float:
        return min(self._deadline, self._watch.due() if self._watch else math.inf)

    def advance(self) -> News:
        """Take the reply, or notice that none will come."""
        server, place = self._server, self._place
        assert server is not None
        assert place is not None
        has_ended = server.ended()
        if self._take(server.lines()):
            self._server, self.over = None, True
            self._let_go(place, server, has_ended)
            return "ended"
        if has_ended and self._stopping:
            self.over = True
            return "dropped"
        if self._watch is not None:
            self._watch.look()
        if has_ended or self._too_large or time.monotonic() >= self._deadline:
            server.close()
            self.over = True
            self._settle(server, has_ended)
            return "ended"
        return ""

    def stop(self, now: bool) -> None:
        """A server keeps nothing half done, so both ways of stopping end it at once."""
        self._stopping = True
        if self._server is not None:
            self._server.kill()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    @abstractmethod
    def _take(self, lines: Iterable[str]) -> bool:
        """Whether the reply is among these; what else arrives was printed by a library."""

    @abstractmethod
    def _let_go(self, place: ThisMachine, server: Worker, has_ended: bool) -> None:
        """The server has replied."""

    @abstractmethod
    def _settle(self, server: Worker, has_ended: bool) -> None:
        """The server gave no reply: have one that says why."""

    @property
    def _too_large(self) -> bool:
        return self._watch is not None and self._watch.too_large


class ProcessWork(Work):
    """The result comes as the worker's last event; without one, `_settle` says what happened.

    `time_limit_s` counts from when the worker is there. `runtime` is the case's,
    `name[:device][@environment]`: the worker is of its environment. A worker that holds more than
    `memory_limit_bytes` of the host's memory is ended; 0 for no limit. `gpus` are CUDA's numbers of
    those whose telemetry is read meanwhile. `_why_dropped` is set where the result does not count.
    """

    def __init__(
        self,
        time_limit_s: float,
        runtime: str,
        memory_limit_bytes: int = 0,
        gpus: tuple[int, ...] = (),
    ) -> None:
        self.time_limit_s, self.memory_limit_bytes = time_limit_s, memory_limit_bytes
        self._environment = environment_of(runtime)
        self._gpu_numbers = gpus
        self._reused = ""
        self._template: tuple[str, int, str] | None = None
        self._talk: Worker | None = None
        self._watcher: Watch | None = None
        self._readings: tuple[Reading, ...] = ()
        self._peak_bytes = 0.0
        self._deadline = 0.0
        self._kill_at: float | None = None
        self._stopping = False
        self._why_dropped = ""

    def start(self, place: ThisMachine) -> None:
        self._talk = place.start(self.kind, self._environment, self._reused, self._template)
        self._deadline, self._kill_at = time.monotonic() + self.time_limit_s, None
        self._talk.send(json.dumps(self._job()))
        self._watcher = place.watch(self._talk, self.memory_limit_bytes, self._gpu_numbers)

    def due(self) -> float:
        deadline = self._deadline if self._kill_at is None else self._kill_at
        return min(deadline, self._eye.due())

    def advance(self) -> News:
        """Hear the worker, watch its limits, and settle when it is gone."""
        talk = self._worker
        has_ended = talk.ended()
        events = [self._hear(line) for line in talk.lines()]
        if has_ended:
            talk.close()
            self.over = True
            self._settle()
            return "dropped" if self._why_dropped else "ended"
        self._watch(time.monotonic())
        self._readings = self._eye.look()
        if self._eye.too_large:
            talk.kill()
        return "told" if self._readings or any(events) else ""

    def stop(self, now: bool) -> None:
        self._stopping = True
        if now:
            self._worker.kill()
        else:
            self._worker.send("stop")
            self._kill_at = time.monotonic() + STOP_GRACE_S

    def close(self) -> None:
        if self._talk is not None:
            self._talk.close()

    @abstractmethod
    def _job(self) -> Mapping[str, Any]:
        """What the worker is told, as JSON values."""

    @abstractmethod
    def _take(self, event: str, message: dict[str, Any]) -> None:
        """One event of the worker."""

    @abstractmethod
    def _settle(self) -> None:
        """The worker is gone: have a result, or say why there is none that counts."""

    @property
    def _worker(self) -> Worker:
        assert self._talk is not None, "work is started before it is advanced"
        return self._talk

    @property
    def _eye(self) -> Watch:
        assert self._watcher is not None, "work is started before it is advanced"
        return self._watcher

    @property
    def _broke_its_memory_limit(self) -> bool:
        """Whether it held too much, at a look or between two: its system has counted the peak."""
        limit_bytes = self.memory_limit_bytes
        return self._eye.too_large or (bool(limit_bytes) and self._peak_bytes > limit_bytes)

    @property
    def _too_late(self) -> bool:
        """Whether it was asked to end because its time was over."""
        return self._kill_at is not None

    def _hear(self, line: str) -> bool:
        message = object_of(line)
        event = message.pop("event", "")
        try:
            self._take(event, message)
        except CodecError:
            return False  # an engine printed what looks like an event; ours are well formed
        if event == "result":
            peak_mb = message.get("rss_peak_mb")
            self._peak_bytes = peak_mb * 2**20 if isinstance(peak_mb, int | float) else 0.0
            deadline = time.monotonic() + GRACE_S
            self._kill_at = deadline if self._kill_at is None else min(self._kill_at, deadline)
        return bool(event)

    def _watch(self, now_s: float) -> None:
        if self._kill_at is not None:
            if now_s >= self._kill_at:
                self._worker.kill()
        elif now_s >= self._deadline:
            self._worker.terminate()
            self._kill_at = now_s + GRACE_S


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
