"""The export of one model in one precision, by an export process that serves many."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from app.cases.status import Status
from app.results.folder import RunFolder
from app.results.inputs import inputs_to_keep
from app.results.lines import Exported, Line
from app.results.live import Live
from app.sweep.work.base import CPU, Needs, News, Place, Talk, Work, json_line
from exporters.codec import from_json, to_json
from exporters.request import ExportReply, ExportRequest

MOST_EXPORTERS = 2
"""So many export processes at once: each holds torch, and the largest networks gigabytes."""


class ExportWork(Work):
    """`reply` is there once it is over; exports share the cores with other exports only."""

    kind = "export"
    needs = Needs(shared=frozenset({CPU}), most=MOST_EXPORTERS)

    def __init__(self, request: ExportRequest, time_limit_s: float) -> None:
        self.request = request
        self.reply: ExportReply | None = None
        self._time_limit_s = time_limit_s
        self._deadline = 0.0
        self._place: Place | None = None
        self._exporter: Talk | None = None
        self._stopping = False

    def start(self, place: Place) -> None:
        self._place, self._exporter = place, place.exporter()
        self._deadline = time.monotonic() + self._time_limit_s
        self._exporter.send(json.dumps(to_json(self.request)))

    def due(self) -> float:
        return self._deadline

    def advance(self) -> News:
        """Take the reply, or notice that none will come."""
        exporter, place = self._exporter, self._place
        assert exporter is not None
        assert place is not None
        ended = exporter.ended()
        for line in exporter.lines():
            self.reply, self.over = from_json(ExportReply, json_line(line)), True
            if ended:
                exporter.close()
            else:
                place.give_back(exporter)
                self._exporter = None
            return "ended"
        if ended and self._stopping:
            self.over = True
            return "dropped"
        if ended or time.monotonic() >= self._deadline:
            exporter.close()
            self.reply, self.over = self._without_reply(exporter, ended), True
            return "ended"
        return ""

    def stop(self, now: bool) -> None:
        """Exporters keep nothing half done, so both ways of stopping end it at once."""
        self._stopping = True
        if self._exporter is not None:
            self._exporter.kill()

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.close()

    def begun(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.state, live.phase = "exporting", "export"
        live.exporting = (*live.exporting, self.request.model)
        return ()

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.exports_done += 1
        live.exporting = tuple(m for m in live.exporting if m != self.request.model)
        if self.reply is not None and self.reply.model is not None:
            if folder.manifest.asked.save_inputs:
                for name, data in inputs_to_keep(self.reply.model):
                    folder.write(name, data)
            yield Exported(self.request.model, self.request.precision, self.reply.model)

    @property
    def failed(self) -> bool:
        return self.reply is None or self.reply.model is None

    def text(self) -> str:
        name, reply = Path(self.request.model).name, self.reply
        if reply is None:
            return f"export of {name} was not finished"
        if reply.model is None:
            return f"export of {name}: {reply.status}: {reply.reason}"
        how = "from the cache" if reply.cached else f"in {reply.export_ms / 1e3:.1f} s"
        return f"exported {name} {how}"

    def _without_reply(self, exporter: Talk, ended: bool) -> ExportReply:
        said = f"the export of {self.request.model}"
        status: Status = "export_failed"
        if ended and exporter.ran_out_of_memory():
            status = "out_of_memory"
            reason = f"the system ended {said} for want of memory: use smaller batches"
        elif ended:
            reason = (
                f"{said} ended with {exporter.how_it_ended()}: "
                "export this model alone to see all that it says"
            )
        else:
            reason = (
                f"{said} took longer than {self._time_limit_s:g} s: "
                "raise --time-limit or make the model smaller"
            )
        return ExportReply(status, reason=reason)
