"""The check of one case, by a process that serves many cases of its runtime."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime

from app.cases.jobs import CheckJob
from app.cases.round import RoundResult
from app.cases.status import FAILED, Status
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine.child import Worker
from app.machine.installed_runtimes import options_of
from app.machine.telemetry import Telemetry, Watch
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.sweep.work.base import CPU, Needs
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.process import ServedWork, is_transient_end
from app.sweep.work.round import SettledRound
from exporters.codec import CodecError, from_json, object_of, to_json
from runtimes.options import all_options

MAXIMUM_CHECKS = 2
"""So many at once: nothing is timed, but each holds an engine, and large networks gigabytes."""


class CheckWork(ServedWork):
    """`result` is a round's, over once it compiled. Its process may hold `memory_limit_bytes` of
    the host's memory, 0 for no limit."""

    kind = "check"
    needs = Needs(shared=frozenset({CPU}), maximum=MAXIMUM_CHECKS)

    def __init__(self, job: CheckJob, time_limit_s: float, memory_limit_bytes: int = 0) -> None:
        super().__init__(time_limit_s, memory_limit_bytes)
        self.job = job
        self.result: RoundResult | None = None
        self._started_at_utc = ""

    def start(self, place: ThisMachine) -> None:
        self._place, self._server = place, place.checker(self.job.case.runtime)
        if self._memory_limit_bytes:
            self._watch = Watch(self._server.pid, self._memory_limit_bytes, (), Telemetry())
        self._deadline = time.monotonic() + self.time_limit_s
        self._started_at_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._server.send(json.dumps(to_json(self.job)))

    def _take(self, lines: Iterable[str]) -> bool:
        for line in lines:
            with contextlib.suppress(CodecError):
                self.result = from_json(RoundResult, object_of(line), finite=True)
                return True
        return False

    def _let_go(self, place: ThisMachine, server: Worker, has_ended: bool) -> None:
        if self._watch is None:
            place.give_back(server, self.job.case.runtime)
        else:  # what it holds of this case would count against the next one's limit
            server.close()

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.job.case.case_id, 0, self.kind)
        return ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None:
            yield self.result

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.status in FAILED

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        label = case_label(self.job.case, models)
        return (
            f"{label}: {self.result.status}" if self.result else f"check of {label} was not ended"
        )

    def _settle(self, server: Worker, has_ended: bool) -> None:
        status: Status = "crashed"
        transient = has_ended and is_transient_end(server)
        if self._too_large:
            status = "out_of_memory"
            reason = (
                f"the checking process held more than {self._memory_limit_bytes / 2**20:,.0f} MiB "
                "of the host's memory: raise --memory-limit or use a smaller batch"
            )
        elif not has_ended:
            status = "timeout"
            reason = (
                f"it was still compiling after {self.time_limit_s:g} s: "
                "raise --time-limit or make the case smaller"
            )
        elif server.ran_out_of_memory():
            status = "out_of_memory"
            reason = "the system ended the check for want of memory: use a smaller batch"
        else:
            reason = (
                f"the check ended with {server.how_it_ended()}: "
                "check this case alone to see the engine's whole output"
            )
        case = self.job.case
        self.result = RoundResult(
            case_id=case.case_id,
            round=0,
            status=status,
            reason=reason,
            started_at_utc=self._started_at_utc,
            options=all_options(options_of(case.runtime), case.options),
            transient=transient,
        )


class SettledCheck(SettledRound):
    """A check whose end is known without a process."""

    kind = CheckWork.kind

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return f"{case_label(self.case, models)}: {self.result.status}"
