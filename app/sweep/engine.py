"""Runs the jobs of a source: `poll` starts what fits, hears the children, tells what happened.

No callbacks, no threads, no files: whoever polls decides what to write and what to draw.
Every child is ended when the engine is closed.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from app.machine.telemetry import Telemetry
from app.sweep.accuracy_task import AssessTask
from app.sweep.events import (
    AccuracyStarted,
    Event,
    ExportStarted,
    Finished,
    Paused,
    ProfileStarted,
    RoundFinished,
    RoundStarted,
)
from app.sweep.jobs import (
    AssessJob,
    ExportJob,
    Job,
    JobSource,
    Measured,
    Outcome,
    ProfileJob,
    RoundJob,
    SettledJob,
)
from app.sweep.tasks import Exporter, ExportTask, MeasureTask, ProfileTask
from exporters import own

MEASURE_COMMAND = own.command("app.workers.measure")
EXPORT_COMMAND = own.command("exporters.worker")
ACCURACY_COMMAND = own.command("app.workers.accuracy")
PROFILE_COMMAND = own.command("app.workers.operators")
MOST_EXPORTERS = 2
LOOK_EVERY_S = 0.2
"""A child whose descendants hold its pipes open ends silently, so its end is looked for."""


class Engine:
    """A context manager over the children of one sweep; see `poll`, `pause`, `stop`.

    `telemetry` is what is read of the devices while a round runs; None reads nothing.
    """

    def __init__(
        self,
        source: JobSource,
        *,
        measure_command: Sequence[str] = MEASURE_COMMAND,
        export_command: Sequence[str] = EXPORT_COMMAND,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._source = source
        self._telemetry = telemetry or Telemetry()
        self._measure_command = measure_command
        self._export_command = export_command
        self._running: list[MeasureTask | ExportTask | AssessTask | ProfileTask] = []
        self._idle: list[Exporter] = []
        self._most_exporters = min(MOST_EXPORTERS, os.cpu_count() or 1)
        self._waiting: Job | None = None
        self._outcomes: list[Outcome] = []
        self._paused = self._told_paused = False
        self._stopping = False
        self.finished = False

    def poll(self, timeout_s: float) -> list[Event]:
        """Start what fits, wait up to `timeout_s` for news, and return the events.

        The last event is `Finished`; after it, `finished` is True and polling returns [].
        """
        if self.finished:
            return []
        events = self._start_what_fits()
        if not events:
            self._wait(timeout_s)
        for task in self._running:
            events += task.advance()
        self._collect()
        if not self._running and self._paused and not self._stopping and not self._told_paused:
            self._told_paused = True
            events.append(Paused())
        if self._stopping and not self._running:
            events += self._finish(stopped=True)
        return events

    def pause(self) -> None:
        """Let what is in flight end, and start nothing more until `resume`."""
        self._paused = True

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = self._told_paused = False

    def stop(self, now: bool = False) -> None:
        """End after the block in flight, or at once; rounds cut short do not count."""
        self._stopping = True
        for task in self._running:
            task.stop(now)

    @property
    def measuring(self) -> bool:
        """Whether a measuring process is at work."""
        return any(isinstance(task, MeasureTask) for task in self._running)

    def close(self) -> None:
        """Kill every child that is left; idempotent."""
        for task in self._running:
            task.close()
        self._running.clear()
        self._retire_exporters()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_what_fits(self) -> list[Event]:
        events: list[Event] = []
        while not self._paused and not self._stopping:
            job, self._waiting = self._waiting or self._next_job(), None
            if job is None:
                if not self._running:
                    events += self._finish(stopped=False)
                break
            if not self._fits(job):
                self._waiting = job
                break
            events += self._start(job)
        return events

    def _next_job(self) -> Job | None:
        finished, self._outcomes = self._outcomes, []
        return self._source.next(finished)

    def _fits(self, job: Job) -> bool:
        if not all(job.needs.fits_beside(task.job.needs) for task in self._running):
            return False
        exports = sum(isinstance(task, ExportTask) for task in self._running)
        return not isinstance(job, ExportJob) or exports < self._most_exporters

    def _start(self, job: Job) -> list[Event]:
        if isinstance(job, SettledJob):
            self._outcomes.append(Measured(job, job.result))
            return [RoundFinished(job.result, 0.0)]
        if isinstance(job, RoundJob):
            self._retire_exporters()
            self._running.append(MeasureTask(job, self._measure_command, self._telemetry))
            return [RoundStarted(job)]
        if isinstance(job, AssessJob):
            self._retire_exporters()
            self._running.append(AssessTask(job, ACCURACY_COMMAND))
            return [AccuracyStarted(job)]
        if isinstance(job, ProfileJob):
            self._retire_exporters()
            self._running.append(ProfileTask(job, PROFILE_COMMAND))
            return [ProfileStarted(job)]
        exporter = self._idle.pop() if self._idle else Exporter(self._export_command)
        self._running.append(ExportTask(job, exporter))
        return [ExportStarted(job)]

    def _collect(self) -> None:
        for task in [task for task in self._running if task.over]:
            self._running.remove(task)
            if task.outcome is not None:
                self._outcomes.append(task.outcome)
            if isinstance(task, ExportTask):
                if task.reusable and not task.exporter.is_large():
                    self._idle.append(task.exporter)
                else:
                    task.close()

    def _wait(self, timeout_s: float) -> None:
        """Sleep until a child speaks, a deadline is due or the time is over."""
        now = time.monotonic()
        until = min([now + timeout_s, *(task.due() for task in self._running)])
        if self._running:
            until = min(until, now + LOOK_EVERY_S)
        filenos = [fileno for task in self._running for fileno in task.filenos()]
        select.select(filenos, [], [], max(0.0, until - now))

    def _retire_exporters(self) -> None:
        """An idle exporter holds nothing that is not stored, so it can simply be killed."""
        for exporter in self._idle:
            exporter.child.close()
        self._idle.clear()

    def _finish(self, stopped: bool) -> list[Event]:
        self.finished = True
        self.close()
        return [Finished(stopped)]
