"""A sweep under way: the engine's events go into the run folder as they happen.

`step` is `Engine.poll` with everything recorded; whoever calls it only has to show.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from app.cases.case import Case
from app.cases.columns import Row
from app.cases.errors import DiskError
from app.cases.status import FAILED
from app.machine.telemetry import Telemetry
from app.results.folder import RESULTS, RunFolder
from app.results.live import Live, LiveFile, State
from app.results.reader import Run, read_run
from app.results.rows import Rows
from app.results.table import to_csv
from app.stats.quantiles import needed_samples
from app.sweep.engine import EXPORT_COMMAND, MEASURE_COMMAND, Engine
from app.sweep.events import (
    AccuracyFinished,
    AccuracyProgress,
    AccuracyStarted,
    Event,
    ExportFinished,
    ExportStarted,
    Finished,
    Paused,
    ProfileFinished,
    ProfileStarted,
    RoundDropped,
    RoundFinished,
    RoundPhase,
    RoundProgress,
    RoundReadings,
    RoundStarted,
)
from app.sweep.sources.largest import LargestBatch
from app.sweep.sources.of_folder import sources

REFRESH_S = 2.0
REFRESH_SHARE = 0.02
"""`results.csv` is rewritten between rounds, and may take this share of the sweep's time."""
ROUND_OVERHEAD_S = 2.0
"""A first guess of what starting, compiling and warming up take."""


class SweepRun:
    """Runs what a folder still lacks. A context manager: leaving it ends every child."""

    def __init__(
        self,
        folder: RunFolder,
        environment: Mapping[str, Any],
        *,
        measure_command: Sequence[str] = MEASURE_COMMAND,
        export_command: Sequence[str] = EXPORT_COMMAND,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.folder = folder
        self.stopped = False
        manifest = folder.manifest
        recorded = read_run(folder.path)
        self._rounds = {case_id: dict(rounds) for case_id, rounds in recorded.rounds.items()}
        self._hosts = dict(recorded.hosts)
        self._models = dict(recorded.models)
        self._accuracies = dict(recorded.accuracies)
        self._host = str(environment.get("host", ""))
        self._rows = Rows()
        self._cases = {case.case_id: case for case in recorded.cases}
        self._tried = list(recorded.tried)
        self._profiles = dict(recorded.profiles)
        self._source, source = sources(folder, recorded)
        folder.begin(environment)
        self._engine = Engine(
            source,
            measure_command=measure_command,
            export_command=export_command,
            telemetry=Telemetry.of_this_machine() if telemetry is None else telemetry,
        )
        self._seconds: list[float] = []
        self._refreshed_at = time.monotonic()
        self._refresh_pause_s = REFRESH_S
        self._stale = False
        self._live_file = LiveFile(folder)
        self.live = Live(
            pid=os.getpid(),
            cases_total=len(self._cases),
            rounds_total=len(manifest.cases) * manifest.rounds,
            exports_total=self._source.exports_left,
        )
        self._count()
        self._live_file.write(self.live, always=True)

    @property
    def finished(self) -> bool:
        return self._engine.finished

    @property
    def run(self) -> Run:
        """What is recorded so far, as a reader of the folder would see it."""
        folder = self.folder
        return Run(
            folder.path,
            folder.manifest,
            self._rounds,
            self._hosts,
            self._models,
            self._accuracies,
            tuple(self._tried),
            self._profiles,
        )

    @property
    def cases(self) -> Mapping[str, Case]:
        """The cases by their ids; a search adds to them."""
        return self._cases

    def rows(self) -> list[Row]:
        """The rows as they stand."""
        return self._rows.of(self.run)

    def step(self, timeout_s: float) -> list[Event]:
        """Poll the engine, record what ended, tell the followers; DiskError ends the sweep."""
        events = self._engine.poll(timeout_s)
        for event in events:
            self._record(event)
        if self._stale and self._between_rounds(events):
            self._refresh_results()
        self._live_file.write(self.live, always=self.finished)
        return events

    def pause(self) -> None:
        """Start nothing more until `resume`."""
        self._engine.pause()

    def resume(self) -> None:
        self._engine.resume()
        if self.live.state == "paused":
            self.live.state = "measuring"

    def stop(self, now: bool = False) -> None:
        """End after the block in flight, or at once."""
        self.live.state = "stopping"
        self._engine.stop(now)

    def close(self, exit_code: int) -> None:
        """End every child, and leave the final `results.csv` and `live.json`."""
        self._engine.close()
        self.folder.write(RESULTS, to_csv(self.rows()))
        complete = self.finished and not self.stopped
        state: State = "finished" if complete else "stopped"
        self.live = replace(self.live, state=state, eta_s=None, exit_code=exit_code)
        self._live_file.write(self.live, always=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._engine.close()

    def _record(self, event: Event) -> None:
        live = self.live
        match event:
            case ExportStarted(job):
                live.state, live.phase = "exporting", "export"
                live.exporting = (*live.exporting, job.request.model)
            case ExportFinished(job, reply):
                live.exports_done += 1
                live.exporting = tuple(m for m in live.exporting if m != job.request.model)
                if reply.model is not None:
                    asked = job.request.model, job.request.precision
                    self.folder.record_model(*asked, reply.model)
                    self._models[asked] = reply.model
            case RoundStarted(job):
                self._know_case(job.measure.case_id)
                # What a killed writer has left behind of this round.
                self.folder.drop_readings(job.measure.case_id, job.measure.round)
                live.state, live.phase = "measuring", "start"
                live.case_id, live.round = job.measure.case_id, job.measure.round
                live.iterations, live.elapsed_s = 0, 0.0
                live.p50_us = live.p99_us = None
            case RoundPhase(_, phase):
                live.phase = phase
            case RoundProgress():
                live.iterations, live.elapsed_s = event.iterations, event.elapsed_s
                live.p50_us = _supported(event.p50_ns, 0.5, event.iterations)
                live.p99_us = _supported(event.p99_ns, 0.99, event.iterations)
            case RoundReadings(job, readings):
                self.folder.record_readings(job.measure.case_id, job.measure.round, readings)
            case RoundFinished(result, seconds):
                self._know_case(result.case_id)
                self.folder.record_round(result)
                self._rounds.setdefault(result.case_id, {})[result.round] = result
                self._hosts.setdefault(result.case_id, self._host)
                if seconds:
                    self._seconds.append(seconds)
                self._stale = True
                self._source.take(result)
                self._count()
            case RoundDropped(job, reason, disk_full):
                self.folder.drop_samples(job.measure.case_id, job.measure.round)
                self.folder.drop_readings(job.measure.case_id, job.measure.round)
                if disk_full:
                    raise DiskError(reason)
            case AccuracyStarted(job):
                live.state, live.phase = "measuring", "accuracy"
                live.case_id, live.round = job.case_id, None
                live.iterations, live.elapsed_s = 0, 0.0
                live.p50_us = live.p99_us = None
            case AccuracyProgress(_, images):
                live.iterations = images
            case AccuracyFinished(_, result):
                self.folder.record_accuracy(result)
                self._accuracies[result.subject] = result
                self._stale = True
            case ProfileStarted(job):
                live.state, live.phase = "measuring", "profile"
                live.case_id, live.round = job.profile.case.case_id, None
                live.iterations, live.elapsed_s = 0, 0.0
                live.p50_us = live.p99_us = None
            case ProfileFinished(_, profile):
                self._profiles[profile.case_id] = self.folder.record_profile(profile)
            case Paused():
                live.state = "paused"
            case Finished(stopped):
                self.stopped = stopped
                self._count()

    def _know_case(self, case_id: str) -> None:
        """Record a case that a search tries for the first time."""
        if case_id not in self._cases and isinstance(self._source, LargestBatch):
            case = self._source.case(case_id)
            self.folder.record_case(case)
            self._cases[case_id] = case
            self._tried.append(case)

    def _count(self) -> None:
        left = self._source.all_rounds_left()
        if isinstance(self._source, LargestBatch):
            # A search does not know beforehand how many tries it will take.
            self.live.rounds_total = sum(map(len, self._rounds.values())) + left
            self.live.cases_total = len(self._cases)
        self.live.rounds_done = self.live.rounds_total - left
        self.live.cases_failed = sum(
            any(result.status in FAILED for result in rounds.values())
            for rounds in self._rounds.values()
        )
        guess = self.folder.manifest.limits.min_s + ROUND_OVERHEAD_S
        known = self._seconds
        self.live.eta_s = left * (sum(known) / len(known) if known else guess)

    def _between_rounds(self, events: Sequence[Event]) -> bool:
        """Whether the parent may work now without disturbing a measurement."""
        ended = any(isinstance(event, RoundFinished | AccuracyFinished) for event in events)
        due = time.monotonic() - self._refreshed_at >= self._refresh_pause_s
        return ended and due and not self._engine.measuring

    def _refresh_results(self) -> None:
        begun = time.monotonic()
        self.folder.write(RESULTS, to_csv(self.rows()), durable=False)
        self._refreshed_at = time.monotonic()
        self._refresh_pause_s = max(REFRESH_S, (self._refreshed_at - begun) / REFRESH_SHARE)
        self._stale = False


def close_quietly(run: SweepRun, exit_code: int) -> None:
    """Close a run whose disk is full as far as that is possible."""
    with contextlib.suppress(DiskError):
        run.close(exit_code)


def _supported(nanoseconds: float | None, quantile: float, iterations: int) -> float | None:
    """In microseconds; None while so few samples are no ground for this percentile."""
    if nanoseconds is None or iterations < needed_samples(quantile):
        return None
    return nanoseconds / 1e3
