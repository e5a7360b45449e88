"""The export of one model in one precision, by an export process that serves many."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterable

import psutil

from app.cases.status import Status
from app.formatting.case_labels import FILE_NAMES, ModelNames, file_name
from app.machine.child import Unstarted, Worker
from app.machine.telemetry import Telemetry, Watch
from app.run_folder.folder import RunFolder, inputs_to_keep, write_inputs
from app.run_folder.journal import Line, ModelExported
from app.run_folder.live_status import Live
from app.sweep.work.base import CPU, Needs
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.process import ServedWork
from exporters.codec import CodecError, from_json, object_of, to_json
from exporters.messages import ExportReply, ExportRequest

MAXIMUM_EXPORTERS = 2
"""So many export processes at once: each holds torch, and the largest networks gigabytes."""
EXPORTER_ITSELF_BYTES = 2**30
"""What an export process with torch in it may hold beside the limit for the model."""


class ExportWork(ServedWork):
    """`reply` is there once it is over; exports share the cores with other exports only.

    Its process may hold `memory_limit_bytes` for the model, 0 for no limit. An export that was
    ended from outside or by the run's budget, or for which the disk was too full, is `cancelled`:
    nothing is said of the model, and a resumed run tries again.
    """

    kind = "export"
    needs = Needs(shared=frozenset({CPU}), maximum=MAXIMUM_EXPORTERS)

    def __init__(
        self, request: ExportRequest, time_limit_s: float, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(time_limit_s, memory_limit_bytes)
        self.request = request
        self.reply: ExportReply | None = None
        self.budget_ends_s = math.inf

    def start(self, place: ThisMachine) -> None:
        self._place, self._server = place, place.exporter()
        self._deadline = min(time.monotonic() + self.time_limit_s, self.budget_ends_s)
        if self._memory_limit_bytes:
            process_bytes = max(EXPORTER_ITSELF_BYTES, _held_bytes(self._server.pid))
            limit = self._memory_limit_bytes + process_bytes
            self._watch = Watch(self._server.pid, limit, (), Telemetry())
        self._server.send(json.dumps(to_json(self.request)))

    def _take(self, lines: Iterable[str]) -> bool:
        for line in lines:
            with contextlib.suppress(CodecError):
                self.reply = from_json(ExportReply, object_of(line))
                return True
        return False

    def _let_go(self, place: ThisMachine, server: Worker, has_ended: bool) -> None:
        if has_ended:
            server.close()
        else:
            place.give_back(server)

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.state, live.phase = "exporting", "export"
        live.exporting = (*live.exporting, self.request.model)
        return ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.exports_done += 1
        live.exporting = tuple(m for m in live.exporting if m != self.request.model)
        if self.reply is not None and self.reply.model is not None:
            # A null twin is fed what its model is.
            if folder.manifest.requested_plan.save_inputs and self.request.null_of is None:
                for name, reference in inputs_to_keep(self.reply.model):
                    with folder.replacing(name) as file:
                        write_inputs(reference, file)
            yield ModelExported(self.request.model, self.request.precision, self.reply.model)

    @property
    def failed(self) -> bool:
        return self.reply is None or self.reply.model is None

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        model, reply = self.request.model, self.reply
        name = models.get(model) or file_name(model)
        if reply is None:
            return f"export of {name} was not finished"
        if reply.model is None:
            return f"export of {name}: {reply.status}"
        source = "from the cache" if reply.cached else f"in {reply.export_ms / 1e3:.1f} s"
        return f"exported {name} {source}"

    def _settle(self, server: Worker, has_ended: bool) -> None:
        subject = f"the export of {self.request.model}"
        status: Status = "export_failed"
        transient = False
        if self._too_large:
            status = "out_of_memory"
            reason = (
                f"{subject} took more than {self._memory_limit_bytes / 2**20:,.0f} MiB for the "
                "model: raise --memory-limit or use smaller batches"
            )
        elif has_ended and server.ran_out_of_memory():
            status, transient = "out_of_memory", True  # others may have had the memory
            reason = (
                f"the system ended {subject} for want of memory: use smaller batches, or end other "
                "programs and resume the run"
            )
        elif isinstance(server, Unstarted):
            transient = True
            reason = f"{subject} could not begin, {server.how_it_ended()}: resume the run"
        elif has_ended and server.was_killed():
            status = "cancelled"
            reason = f"{subject} was ended from outside ({server.how_it_ended()}): resume the run"
        elif has_ended:
            reason = (
                f"{subject} ended with {server.how_it_ended()}: "
                "export this model alone to see its whole output"
            )
        elif self._deadline == self.budget_ends_s:
            status = "cancelled"
            reason = f"{subject} was not over when the budget was: give more, or resume the run"
        else:
            reason = (
                f"{subject} took longer than {self.time_limit_s:g} s: "
                "raise --time-limit or make the model smaller"
            )
        self.reply = ExportReply(status, reason=reason, transient=transient)


class DraftWork(ExportWork):
    """The export of a model without its references, for a round that is checked later.

    The run keeps nothing of it: the whole export follows.
    """

    kind = "draft"

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.state, live.phase = "exporting", "export"
        return ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return ()

    @property
    def failed(self) -> bool:
        return False  # the whole export says so


def _held_bytes(pid: int | None) -> int:
    try:
        return 0 if pid is None else int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
