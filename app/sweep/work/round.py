"""One round of one case in a process of its own, with the cores to itself."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

from app.cases.case import Case
from app.cases.errors import DiskError, disk_remedy
from app.cases.round import (
    AWAITING,
    SUSPENDED,
    MeasureJob,
    Phase,
    Progress,
    RoundResult,
    serves_more,
)
from app.cases.status import FAILED, Status
from app.cases.telemetry import GpuState, Surroundings
from app.cases.turns import LEFT, READY, TurnStart
from app.formatting import text
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine.installed_runtimes import options_of, runtime
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line, SearchCase
from app.run_folder.live_status import Live
from app.stats.option_search.ablation import round_name
from app.stats.quantiles import needed_samples
from app.sweep.work.base import EXCLUSIVE_CPU, Needs, News, SettledWork
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.process import STOPPED, ProcessWork, is_transient_end
from exporters.codec import from_json, to_json
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel
from runtimes.options import all_options
from runtimes.registry import parse_spec

GPU = "gpu:"
UNCHECKED = "its outputs could not be checked, it is measured again"


class RoundWork(ProcessWork):
    """`result` is there once it is over and counts.

    `is_search_case` says that the case is one that a search has come to, which the run's manifest
    does not have. Compiling has `compile_limit_s` for itself, and is no part of the round's limit:
    an engine may look for kernels for minutes.
    """

    kind = "round"
    is_search_case = False
    watch_turns: Callable[[], None] = staticmethod(lambda: None)
    """Looks after its set: one that waits can't tell whether another will ever hand on."""

    def __init__(
        self,
        job: MeasureJob,
        time_limit_s: float,
        needs: Needs = EXCLUSIVE_CPU,
        memory_limit_bytes: int = 0,
        compile_limit_s: float = 600.0,
    ) -> None:
        case = job.case
        super().__init__(time_limit_s, case.runtime, memory_limit_bytes, gpus_of(needs))
        self._reused = case.runtime if job.is_reusable else ""
        engine = runtime(parse_spec(case.runtime).name)
        if engine.clock == "wall" and not (engine.accelerator or self._environment):
            name = engine.name if engine.loads_alone else ""
            self._template = name, job.settings.threads if name else 0, case.case_id
        self._compile_limit_s, self._left_s = compile_limit_s, time_limit_s
        self.case, self.job, self.needs = case, job, needs
        self.result: RoundResult | None = None
        self.progress: Progress | None = None
        self.phase = "start"
        self._gpus: tuple[GpuState, ...] = ()
        self._outcome: RoundResult | None = None
        self._disk_full = self._must_restart = self._has_compiled = self._clock_rests = False
        self._is_checked = not job.awaits_reference
        self._is_paused, self._drop_reason = False, STOPPED
        self._place: ThisMachine | None = None
        self._started_at_utc = ""
        self.pid, self.turn_s, self.has_left = 0, 0.0, False
        """Of a round in turns its process and the length of a turn once that is ready, and whether
        it has had its turns."""

    @property
    def imports_long(self) -> bool:
        """Whether its process has an engine imported by a template, which takes a while."""
        return self._template is not None and bool(self._template[0])

    def start(self, place: ThisMachine) -> None:
        self._place = place
        self._has_compiled = self._clock_rests = False
        super().start(place)
        self._started_at_utc = datetime.now(UTC).isoformat(timespec="milliseconds")

    def due(self) -> float:
        return 0.0 if self._must_restart else super().due()

    def advance(self) -> News:
        if self._must_restart:
            return self._restart()
        self.watch_turns()
        news, result = super().advance(), self.result
        if self.over or not self._reused or result is None or not serves_more(self.job, result):
            return news
        assert self._place is not None, "work is started before it is advanced"
        self.over = True
        self._settle()
        if self.result is None:
            self._worker.close()
            return "dropped"
        self._place.give_back(self._worker, self._reused)
        return "ended"

    def stop(self, now: bool) -> None:
        self._stopping = True
        if not self._must_restart:  # between two processes there is nothing to end
            super().stop(now)
        if self.pid:  # it may be halted between its turns
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    def interrupt(self) -> None:
        """A paused sweep computes no references: a round that awaits one would never end."""
        self._is_paused = True
        if not self._is_checked and not self.needs.exclusive:  # measured, and awaits references
            self.abandon()
        if self.job.seat is not None and self.phase != "measure" and not self.has_left:
            self.give_up_turns("the sweep is paused")  # what it waits for will not start

    def check_with(self, model: ExportedModel) -> None:
        """Send the model with its references to a round that awaits them."""
        self._is_checked, self._deadline = True, time.monotonic() + self._left_s
        self._worker.send(json.dumps({"model": to_json(model)}))

    @property
    def has_started(self) -> bool:
        return self._place is not None

    def take_turns(self, start: TurnStart) -> float:
        """Begin with the others of its set; how many seconds are left of its own limit, which rests
        until it has had its turns."""
        self._worker.send(json.dumps({"turns": to_json(start)}))
        return self._left_s + self.job.limits.longest_s(len(start.seats))

    def time_out(self) -> None:
        """End it now, as one that took too long."""
        self._deadline = 0.0

    def give_up_turns(self, reason: str) -> None:
        """End a round whose set is broken: it does not count."""
        self._drop_reason = reason
        self.stop(now=False)

    def abandon(self) -> None:
        """End a round that awaits references: there are none, and it does not count."""
        self._worker.kill()

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.is_search_case:
            yield SearchCase(self.case)
        # What a killed writer has left behind of this round.
        folder.drop_readings(self.job.case.case_id, self.job.round)
        live.show(self.job.case.case_id, self.job.round, self.phase)

    def on_progress(self, folder: RunFolder, live: Live) -> None:
        if (live.case_id, live.round) == (self.job.case.case_id, self.job.round):
            live.phase = self.phase
            if (now := self.progress) is not None:
                live.iterations, live.elapsed_s = now.iterations, now.elapsed_s
                live.p50_us, live.p99_us = self._running(now)
        if self._readings:
            folder.record_readings(self.job.case.case_id, self.job.round, self._readings)
            self._readings = ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            self.on_progress(folder, live)
            readings_crc32 = folder.readings_crc32(self.job.case.case_id, self.job.round)
            yield replace(self.result, readings_crc32=readings_crc32)

    def on_abort(self, folder: RunFolder) -> None:
        folder.drop_samples(self.job.case.case_id, self.job.round)
        folder.drop_readings(self.job.case.case_id, self.job.round)
        if self._disk_full:
            reason = self._why_dropped
            raise DiskError(reason, f"{disk_remedy(reason)}, then resume it")

    @property
    def p50_us(self) -> float | None:
        """The median of the runs so far; None while they are too few for one."""
        return None if self.progress is None else self._running(self.progress)[0]

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.status in FAILED

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        if self.result is None:
            return f"round dropped: {self._why_dropped}"
        line = _ending(self.case, self.result, models)
        if self.result.status in ("ok", "partial") and self.progress is not None:
            p50_us, p99_us = self._running(self.progress)
            line += f", {text.count(self.result.iterations)} runs"
            line += f", p50 {text.latency(p50_us)}, p99 {text.latency(p99_us)}"
        return line

    def brief(self, models: ModelNames = FILE_NAMES) -> str:
        """With the median alone."""
        if self.result is None or self.result.status != "ok" or self.progress is None:
            return self.text(models)
        median_us, _ = self._running(self.progress)
        return f"{_ending(self.case, self.result, models)}, p50 {text.latency(median_us)}"

    def _job(self) -> Mapping[str, Any]:
        job: Mapping[str, Any] = to_json(self.job)
        return job

    def _take(self, event: str, message: dict[str, Any]) -> None:
        if event == "phase" and message.get("phase") in get_args(Phase):
            self._enter(message["phase"])
        elif event == "device":
            uuid, device = (str(message.get(name, "")) for name in ("uuid", "device"))
            state = self._eye.computes_on(uuid, device)
            self._gpus += () if state is None else (state,)
        elif event == AWAITING and self.job.awaits_reference:
            self.needs = Needs()  # it is idle, and what computes the reference may run
            self._left_s, self._deadline = max(0.0, self._deadline - time.monotonic()), math.inf
            if self._is_paused:
                self.abandon()
        elif event == READY and self.job.seat is not None:
            self.pid, self.turn_s = message.get("pid") or 0, message.get("turn_s") or 1.0
            self._left_s, self._deadline = max(0.0, self._deadline - time.monotonic()), math.inf
        elif event == LEFT:
            self.has_left, self._deadline = True, time.monotonic() + self._left_s
        elif event == "outcome":
            self._outcome = from_json(RoundResult, message, finite=True)
        elif event == "progress":
            self.progress = from_json(Progress, message, finite=True)
        elif event == "result":
            self.result = from_json(RoundResult, message, finite=True)

    def _enter(self, phase: Phase) -> None:
        """The clock of the round's limit rests while the process compiles, which it does once."""
        now_s = time.monotonic()
        if phase == "compile" and not self._has_compiled:
            self._left_s, self._deadline = self._deadline - now_s, now_s + self._compile_limit_s
            self._has_compiled = self._clock_rests = True
        elif self._clock_rests and phase != "compile":
            self._deadline, self._clock_rests = now_s + self._left_s, False
        self.phase = phase

    def _settle(self) -> None:
        result = self.result or self._without_result()
        if self._gpus:
            first, *rest = self._gpus
            surroundings: Surroundings = {"gpu": first}
            if rest:
                surroundings["other_gpus"] = rest
            result = replace(result, environment={**result.environment, **surroundings})
        if self._stopping or result.stop_reason == "stopped":
            self._why_dropped, self.result = self._drop_reason, None
        elif not self._is_checked:
            self._why_dropped, self.result = UNCHECKED, None
        elif result.stop_reason == SUSPENDED and self.job.seat is not None:
            self._why_dropped, self.result = f"{result.reason}, it begins again", None
        elif result.stop_reason == SUSPENDED:
            self._why_dropped = f"{result.reason}, it begins again"
            self._must_restart, self.over, self.phase = True, False, "start"
            self.result = self.progress = self._outcome = None
            self._readings = ()
        elif result.stop_reason == "disk_full":
            self._why_dropped, self.result = result.reason, None
            self._disk_full = True
        else:
            self.result = self._without_result() if self._broke_its_memory_limit else result

    def _restart(self) -> News:
        assert self._place is not None, "work is started before it is advanced"
        self._must_restart, self._why_dropped = False, ""
        if self._stopping:
            self.over, self._why_dropped = True, STOPPED
            return "dropped"
        self.start(self._place)
        return "dropped" if self.over else "told"  # what it needs may have gone meanwhile

    def _running(self, progress: Progress) -> tuple[float | None, float | None]:
        """p50 and p99 in microseconds, None while so few samples are no ground for one."""
        percentiles = ((progress.p50_ns, 0.5), (progress.p99_ns, 0.99))
        p50, p99 = (
            ns / 1e3 if ns is not None and progress.iterations >= needed_samples(quantile) else None
            for ns, quantile in percentiles
        )
        return p50, p99

    def _without_result(self) -> RoundResult:
        """The worker is gone without a word of its own: no memory, too late, or crashed."""
        status: Status = "crashed"
        worker = self._worker
        transient = is_transient_end(worker)
        reason = (
            f"the measuring process ended in {self.phase} with {self._worker.how_it_ended()}: "
            "run this case alone to see the engine's whole output"
        )
        if self._broke_its_memory_limit:
            status, transient = "out_of_memory", False
            limit_mib = self.memory_limit_bytes / 2**20
            reason = (
                f"the measuring process held more than {limit_mib:,.0f} MiB of the host's memory "
                f"in {self.phase}: "
                "raise --memory-limit or use a smaller batch"
            )
        elif self._worker.ran_out_of_memory():
            status = "out_of_memory"
            reason = (
                f"the system ended the measuring process in {self.phase} for want of memory: "
                "use a smaller batch"
            )
        elif self._outcome is not None:
            # What the process had told before the engine took it along: that holds.
            crash = diagnostic("engine_crashed_at_close", exit_code=worker.exit_code())
            return replace(self._outcome, warnings=(*self._outcome.warnings, crash))
        elif self._too_late:
            status, transient = "timeout", False
            limit_s = self._compile_limit_s if self.phase == "compile" else self.time_limit_s
            reason = (
                f"the round was still in {self.phase} after {limit_s:g} s: "
                "raise --time-limit or make the case smaller"
            )
        return RoundResult(
            case_id=self.job.case.case_id,
            round=self.job.round,
            status=status,
            reason=reason,
            started_at_utc=self._started_at_utc,
            options=all_options(options_of(self.job.case.runtime), self.job.settings.options),
            transient=transient,
        )


class SettledRound(SettledWork):
    """A round whose result is known without a process: a refusal, an export that failed, or what
    `host` has measured. `is_search_case` as `RoundWork` has it."""

    kind = "round"
    is_search_case = False

    def __init__(self, case: Case, result: RoundResult, host: str = "") -> None:
        self.case, self.result, self.host = case, result, host

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return (SearchCase(self.case),) if self.is_search_case else ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return (self.result,)

    @property
    def failed(self) -> bool:
        return False  # it was refused, or its export has told of the failure

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        ending = _ending(self.case, self.result, models)
        return f"{self.host}: {ending}" if self.host else ending


def gpus_of(needs: Needs) -> tuple[int, ...]:
    """CUDA's numbers of the GPUs that are needed, in their order."""
    names = needs.exclusive
    numbers = [name.removeprefix(GPU) for name in names if name.startswith(GPU)]
    return tuple(sorted(int(number) for number in numbers if number.isdecimal()))


def _ending(case: Case, result: RoundResult, models: ModelNames) -> str:
    """Without the reason, which is told once at the end for all the cases that have it."""
    return f"{case_label(case, models)} {round_name(result.round)}: {result.status}"
