"""Work on other machines: rounds, operator times, and events of hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.jobs import OperatorJob
from app.cases.round import MeasureJob, RoundResult
from app.cases.status import FITS, Status
from app.formatting.case_labels import FILE_NAMES, ModelNames
from app.machine.installed_runtimes import runtime
from app.remote.contract import ENGINES, Carrier, HostJob, unreadable
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.journal import DiscardedRound, Line, Operators
from app.run_folder.live_status import Live
from app.runs.reader import damage
from app.sweep.work.base import EXCLUSIVE_CPU, Launcher, Needs, SettledWork
from app.sweep.work.follow_ups import OperatorWork
from app.sweep.work.process import STOPPED
from app.sweep.work.remote_channel import (
    AGENT_MARGIN_S,
    HostChannel,
    HostLauncher,
    prepare_job,
    prepare_model,
)
from app.sweep.work.round import RoundWork, gpus_of
from exporters.codec import CodecError, to_json
from exporters.diagnostics import catalogue
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.execution import Clock
from runtimes.registry import names, parse_spec


class HostNews(SettledWork):
    """`said` is one sentence, `discarded_rounds` are the rounds that are done again."""

    kind = "host"

    def __init__(self, sentence: str, discarded_rounds: tuple[DiscardedRound, ...] = ()) -> None:
        self._sentence, self.voided = sentence, discarded_rounds

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return self.voided

    @property
    def failed(self) -> bool:
        return True  # whoever sees nothing but failures is to see this

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return self._sentence


MAXIMUM_SLEEPS = 5
"""A host that says more often that it was asleep in a round is lost."""
_NOT_OF_A_WORKER: frozenset[Status] = frozenset({"imported", "compiles", "cancelled"})


@dataclass(frozen=True, slots=True)
class Way:
    """To a host: who carries, and `ring`, which ends the waiting of the sweep's own thread.

    With `send_code` a user's own file goes along. `warnings` are diagnostics of the host.
    `mark` makes jobs of this sweep others than those of any before, which the host may remember.
    """

    carrier: Carrier
    host: str
    ring: Callable[[], None]
    mark: str
    send_code: bool = False
    warnings: tuple[Diagnostic, ...] = ()


class HostedRound(RoundWork):
    """`lost` says why nothing came of it that counts, where the host or the way to it failed; the
    case is then begun again. `unsent` says so where what it needs is not on this machine any more,
    so that no host can measure it. `attempt` counts from 1, `said` is what the row tells of
    earlier ones.
    """

    def __init__(
        self,
        case: Case,
        job: MeasureJob,
        time_limit_s: float,
        needs: Needs = EXCLUSIVE_CPU,
        memory_limit_bytes: int = 0,
        is_search_case: bool = False,
        compile_limit_s: float = 600.0,
        *,
        way: Way,
        attempt: int = 1,
        warnings: tuple[Diagnostic, ...] = (),
    ) -> None:
        super().__init__(
            case, job, time_limit_s, needs, memory_limit_bytes, is_search_case, compile_limit_s
        )
        self.host, self.attempt = way.host, attempt
        self.lost = self.unsent = ""
        self._way, self._warnings = way, (*way.warnings, *warnings)
        self._remote_job = job
        self._starts = 0
        self._not_understood = ""
        self._host_channel: HostChannel | None = None

    def start(self, place: Launcher) -> None:
        """Wherever the sweep itself is: the host has its own place."""
        self._starts += 1
        job_id = f"{self.job.case_id}.{self.job.round}.{self.attempt}.{self._way.mark}"
        try:
            self._remote_job, files = prepare_job(self.job, self._way.send_code)
        except OSError as error:
            self._leave(str(unreadable(error)))
            return
        job = HostJob(
            # One that begins again, since its host slept, is another job.
            id=job_id if self._starts == 1 else f"{job_id}.{self._starts}",
            kind=self.kind,
            line="",
            files=files,
            memory_limit_bytes=self.memory_limit_bytes,
            gpus=gpus_of(self.needs),
            limit_s=self._compile_limit_s + self.time_limit_s + AGENT_MARGIN_S,
        )
        way = self._way
        self._host_channel = HostChannel(
            way.carrier, way.host, job, Path(self.job.samples_path), way.ring
        )
        super().start(HostLauncher(self._host_channel))

    @property
    def has_begun(self) -> bool:
        """Whether anything was heard of its worker: a loss before is none of the case."""
        return self._has_begun

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return f"{self.host}: {super().text(models)}"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self._remote_job)
        return job

    def _leave(self, reason: str) -> None:
        self.over, self.result = True, None
        self.unsent = self._why_dropped = reason

    def _take(self, event: str, message: dict[str, Any]) -> None:
        try:
            super()._take(event, message)
        except CodecError as error:
            if event in ("result", "outcome"):
                self._not_understood = f"its result can't be understood ({error})"
            raise

    def _settle(self) -> None:
        was_asked, reported_result = self._stopping, self.result
        super()._settle()
        assert self._host_channel is not None, "it was started"
        if self._must_restart and self._starts <= MAXIMUM_SLEEPS:
            return
        if self._must_restart or (self._why_dropped == STOPPED and not was_asked):
            self._must_restart, self.over = False, True
            self._lose("it slept in each round" if self._starts > MAXIMUM_SLEEPS else "it stopped")
            return
        if self._why_dropped and not self._disk_full:
            return
        if self._host_channel.is_ours:
            self._leave(self._host_channel.lost)
            return
        self.lost = (
            self._host_channel.lost
            or self._never_begun
            or self._disk_of_the_host()
            or (self._not_understood if reported_result is None else "")
        )
        if not self.lost and self.result is not None:
            result = self.result
            self.result = replace(
                result,
                attempt=self.attempt,
                samples=samples_name(result.case_id, result.round) if result.samples else "",
                warnings=(*self._warnings, *result.warnings),
            )
            self.lost = remote_fault(self._host_channel, self.job, self.result)
        if self.lost:
            self._lose(self.lost)

    def _lose(self, reason: str) -> None:
        self.lost, self.result = reason, None
        self._why_dropped = f"{self.host} was lost in it ({reason})"

    def _disk_of_the_host(self) -> str:
        """That it is full ends nothing here: the case goes on elsewhere."""
        reason, self._disk_full = self._why_dropped if self._disk_full else "", False
        return reason


def remote_fault(channel: HostChannel, job: MeasureJob, result: RoundResult) -> str:
    """Why what has arrived is not a round that this job can have; empty if it is one."""
    if (result.case_id, result.round) != (job.case_id, job.round):
        return "it answered for another round"
    if result.status in _NOT_OF_A_WORKER or result.imported is not None:
        return f"its round ended with {result.status}, which no worker reports"
    if not result.samples:
        return "it reports a measurement without samples" if result.status in FITS else ""
    if result.samples_crc32 != channel.crc32:
        return "its samples did not arrive as they were written"
    if result.clock not in _clocks(job.runtime):
        return f"it timed {job.runtime} with the clock {result.clock}"
    negative = min(result.warmup_iterations, result.iterations, result.duration_s) < 0
    if negative or result.concurrency < 1:
        return "its counts can't be true"
    fault = damage(Path(job.samples_path), result)
    return catalogue.message(fault) if fault is not None else ""


def _clocks(spec: str) -> tuple[Clock, ...]:
    """Those that can have timed a round of `name[:device][@environment]`: an engine on a device may
    have its device's clock, and what this machine does not have is unknown."""
    name = parse_spec(spec).name
    definition = runtime(name) if name in names() else None
    if definition is None or definition.accelerator:
        return ("wall", "device")
    return (definition.clock,)


_NUMBERS = count(1)


class HostedOperators(OperatorWork):
    """`lost` says why nothing came of it, where the host or the way to it failed. `attempt` is that
    of the case's rounds, with which these times stand and fall."""

    def __init__(
        self,
        job: OperatorJob,
        time_limit_s: float,
        needs: Needs,
        way: Way,
        attempt: int,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(job, time_limit_s, memory_limit_bytes)
        self.host, self.needs = way.host, needs
        self.lost = ""
        self._way, self._attempt = way, attempt
        self._host_channel: HostChannel | None = None

    def start(self, place: Launcher) -> None:
        """Wherever the sweep itself is: the host has its own place."""
        case, way = self.job.case, self._way
        try:
            model, files = prepare_model(self.job.model, case.axes, way.send_code)
        except OSError as error:
            self.over = True
            self._why_dropped = str(unreadable(error))
            return
        self.job = replace(self.job, model=model, cache_dir=ENGINES)
        job_id = f"{case.case_id}.{self.kind}.{next(_NUMBERS)}.{way.mark}"
        job = HostJob(
            id=job_id,
            kind=self.kind,
            line="",
            files=files,
            memory_limit_bytes=self.memory_limit_bytes,
            samples=False,
            limit_s=self.time_limit_s + AGENT_MARGIN_S,
        )
        self._host_channel = HostChannel(way.carrier, way.host, job, Path(), way.ring)
        super().start(HostLauncher(self._host_channel))

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        for line in super().on_finish(folder, live):
            assert isinstance(line, Operators), "it is all that there is"
            yield replace(line, attempt=self._attempt)

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return f"{self.host}: {super().text(models)}"

    def _settle(self) -> None:
        super()._settle()
        if self._why_dropped:
            return
        assert self._host_channel is not None, "it was started"
        self.lost = self._host_channel.lost or self._never_begun
        if self.result is not None and self.result.case_id != self.job.case.case_id:
            self.lost = "it answered for another case"
        if self.lost:
            self.result, self._why_dropped = None, f"{self.host} was lost in it ({self.lost})"
