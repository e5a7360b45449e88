"""Jobs in flight: a measuring process or an exporter at work, its deadline and its end.

`advance` reads what the child said and returns events; `outcome` is set when it is over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import psutil

from app.cases.operators import OpProfile
from app.cases.round import RoundResult
from app.cases.status import Status
from app.machine.available import runtime
from app.machine.child import Child
from app.machine.telemetry import Telemetry
from app.sweep.events import (
    Event,
    ExportFinished,
    ProfileFinished,
    RoundDropped,
    RoundFinished,
    RoundPhase,
    RoundProgress,
    RoundReadings,
)
from app.sweep.jobs import Exported, ExportJob, Measured, Profiled, ProfileJob, RoundJob
from app.sweep.watch import Watch
from exporters.request import ExportReply
from runtimes.options import all_options
from runtimes.registry import parse_spec

GRACE_S = 3.0
"""How long a child may take to end after it was asked to, before its group is killed."""
STOP_GRACE_S = 10.0
EXPORTER_LIMIT_BYTES = 3 * 2**30
"""An exporter that has grown beyond this is replaced: exporters keep what torch has freed."""


class ProcessTask:
    """A job in a process of its own: one line in, event lines out, a deadline, its end."""

    def __init__(
        self, command: Sequence[str], message: Mapping[str, Any], time_limit_s: float
    ) -> None:
        self.over = False
        self._child = Child(command)
        self._begun = time.monotonic()
        self._deadline = self._begun + time_limit_s
        self._kill_at: float | None = None
        self._stopping = False
        self._child.send(json.dumps(message))

    def filenos(self) -> tuple[int, ...]:
        return self._child.filenos()

    def due(self) -> float:
        """When something must happen even if the child stays silent (monotonic seconds)."""
        return self._deadline if self._kill_at is None else self._kill_at

    def advance(self) -> list[Event]:
        """Hear the child, watch its deadline, and settle when it is gone."""
        ended = self._child.ended()
        events: list[Event] = []
        for line in self._child.lines():
            events += self._hear(line)
        if ended:
            self._child.close()
            self.over = True
            return events + self._settle()
        self._watch(time.monotonic())
        return events

    def stop(self, now: bool) -> None:
        """End the job after the block in flight, or at once; its result will not count."""
        self._stopping = True
        if now:
            self._child.kill()
        else:
            self._child.send("stop")
            self._kill_at = time.monotonic() + STOP_GRACE_S

    def close(self) -> None:
        self._child.close()

    def _take(self, kind: str, message: dict[str, Any]) -> list[Event]:
        """One event line of the child; a `result` is kept for `_settle`."""
        raise NotImplementedError

    def _settle(self) -> list[Event]:
        """The child is gone: set the outcome, or drop it."""
        raise NotImplementedError

    def _hear(self, line: str) -> list[Event]:
        try:
            message: dict[str, Any] = json.loads(line)
            kind = message.pop("event")
        except (ValueError, KeyError, TypeError, AttributeError):
            return []
        if kind == "result":
            self._kill_at = time.monotonic() + GRACE_S
        return self._take(kind, message)

    def _watch(self, now: float) -> None:
        if self._kill_at is not None:
            if now >= self._kill_at:
                self._child.kill()
        elif now >= self._deadline:
            self._child.terminate()
            self._kill_at = now + GRACE_S


class MeasureTask(ProcessTask):
    """One round in its own process, with an eye on its memory and on the devices."""

    def __init__(self, job: RoundJob, command: Sequence[str], telemetry: Telemetry) -> None:
        super().__init__(command, job.measure.to_json(), job.time_limit_s)
        self.job = job
        self._eye = Watch(job, self._child.pid, telemetry)
        self.outcome: Measured | None = None
        self._started_at_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._phase = "start"
        self._result: RoundResult | None = None

    def due(self) -> float:
        return min(super().due(), self._eye.due())

    def advance(self) -> list[Event]:
        events = super().advance()
        if not self.over:
            readings = self._eye.look()
            if readings:
                events.append(RoundReadings(self.job, readings))
            if self._eye.too_large:
                self._child.kill()
        return events

    def _take(self, kind: str, message: dict[str, Any]) -> list[Event]:
        if kind == "phase":
            self._phase = message["phase"]
            return [RoundPhase(self.job, self._phase)]
        if kind == "progress":
            return [RoundProgress(self.job, **message)]
        if kind == "result":
            self._result = RoundResult.from_json(message)
        return []

    def _settle(self) -> list[Event]:
        result = self._result or self._without_result()
        if self._stopping or result.stop_reason == "stopped":
            return [RoundDropped(self.job, "the sweep was stopped", disk_full=False)]
        if result.stop_reason == "disk_full":
            return [RoundDropped(self.job, result.reason, disk_full=True)]
        if self._broke_its_limit(result):
            result = self._without_result()
        self.outcome = Measured(self.job, result)
        return [RoundFinished(result, time.monotonic() - self._begun)]

    def _broke_its_limit(self, result: RoundResult) -> bool:
        """Whether it held too much between two looks: the system has counted the peak."""
        limit, peak_mb = self.job.memory_limit_bytes, result.rss_peak_mb or 0.0
        self._eye.too_large |= bool(limit) and peak_mb * 2**20 > limit
        return self._eye.too_large

    def _without_result(self) -> RoundResult:
        """The child is gone without a word of its own: no memory, too late, or crashed."""
        status: Status = "crashed"
        reason = (
            f"the measuring process ended in {self._phase} with {self._child.how_it_ended()}: "
            "run this case alone to see all that the engine says"
        )
        if self._eye.too_large:
            status = "out_of_memory"
            limit_mib = self.job.memory_limit_bytes / 2**20
            reason = (
                f"the measuring process held more than {limit_mib:,.0f} MiB in {self._phase}: "
                "raise --memory-limit or use a smaller batch"
            )
        elif self._child.ran_out_of_memory():
            status = "out_of_memory"
            reason = (
                f"the system ended the measuring process in {self._phase} for want of memory: "
                "use a smaller batch"
            )
        elif self._kill_at is not None:
            status = "timeout"
            reason = (
                f"the round was still in {self._phase} after {self.job.time_limit_s:g} s: "
                "raise --time-limit or make the case smaller"
            )
        measure = self.job.measure
        engine = runtime(parse_spec(measure.runtime).name)
        return RoundResult(
            case_id=measure.case_id,
            round=measure.round,
            status=status,
            reason=reason,
            started_at_utc=self._started_at_utc,
            options=all_options(engine.options, measure.settings.options),
        )


class ProfileTask(ProcessTask):
    """The profile of one case's operators."""

    def __init__(self, job: ProfileJob, command: Sequence[str]) -> None:
        super().__init__(command, job.profile.to_json(), job.time_limit_s)
        self.job = job
        self.outcome: Profiled | None = None
        self._result: OpProfile | None = None

    def _take(self, kind: str, message: dict[str, Any]) -> list[Event]:
        if kind == "result":
            self._result = OpProfile.from_json(message)
        return []

    def _settle(self) -> list[Event]:
        if self._stopping:
            return []
        result = self._result or OpProfile(self.job.profile.case.case_id, reason=self._why())
        self.outcome = Profiled(self.job, result)
        return [ProfileFinished(self.job, result)]

    def _why(self) -> str:
        if self._child.ran_out_of_memory():
            return "the system ended the profiling process for want of memory"
        if self._kill_at is not None:
            return f"the profile took longer than {self.job.time_limit_s:g} s"
        return f"the profiling process ended with {self._child.how_it_ended()}"


class Exporter:
    """A persistent export process, which serves one request after another."""

    def __init__(self, command: Sequence[str]) -> None:
        self.child = Child(command)

    def is_large(self) -> bool:
        try:
            return psutil.Process(self.child.pid).memory_info().rss > EXPORTER_LIMIT_BYTES
        except psutil.Error:
            return True


class ExportTask:
    """One request with an exporter; `reusable` tells whether the exporter can serve again."""

    def __init__(self, job: ExportJob, exporter: Exporter) -> None:
        self.job = job
        self.exporter = exporter
        self.outcome: Exported | None = None
        self.over = False
        self.reusable = False
        self._deadline = time.monotonic() + job.time_limit_s
        exporter.child.send(json.dumps(job.request.to_json()))

    def filenos(self) -> tuple[int, ...]:
        return self.exporter.child.filenos()

    def due(self) -> float:
        return self._deadline

    def advance(self) -> list[Event]:
        """Take the reply, or notice that none will come."""
        if self.over:
            return []
        child, request = self.exporter.child, self.job.request
        ended = child.ended()
        for line in child.lines():
            self.reusable = not ended
            return self._settle(ExportReply.from_json(json.loads(line)))
        if ended:
            child.close()
            if child.ran_out_of_memory():
                return self._failed(
                    f"the system ended the export of {request.model} for want of memory",
                    "use smaller batches",
                    "out_of_memory",
                )
            return self._failed(
                f"the export of {request.model} ended with {child.how_it_ended()}",
                "export this model alone to see all that it says",
            )
        if time.monotonic() >= self._deadline:
            child.close()
            return self._failed(
                f"the export of {request.model} took longer than {self.job.time_limit_s:g} s",
                "raise --time-limit or make the model smaller",
            )
        return []

    def stop(self, now: bool) -> None:
        """Exporters keep nothing half done, so both ways of stopping end it at once."""
        self.exporter.child.kill()
        self.over = True

    def close(self) -> None:
        self.exporter.child.close()

    def _failed(self, cause: str, remedy: str, status: Status = "export_failed") -> list[Event]:
        return self._settle(ExportReply(status, reason=f"{cause}: {remedy}"))

    def _settle(self, reply: ExportReply) -> list[Event]:
        self.over = True
        self.outcome = Exported(self.job, reply)
        return [ExportFinished(self.job, reply)]
