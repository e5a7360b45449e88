"""This machine as the place where work runs: workers are child processes of ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Self

import psutil

from app.machine.bell import Bell
from app.machine.child import Child
from app.machine.cores import keep_to, on_cores, usable_cores
from app.machine.telemetry import Telemetry
from app.sweep.work.base import Talk
from exporters import own

COMMANDS: Mapping[str, Sequence[str]] = {
    "export": own.command("exporters.worker"),
    "round": own.command("app.workers.measure"),
    "accuracy": own.command("app.workers.accuracy"),
    "cold_start": own.command("app.workers.cold"),
    "operators": own.command("app.workers.operators"),
}
EXPORTER_LIMIT_BYTES = 3 * 2**30
"""An exporter that has grown beyond this is replaced: exporters keep what torch has freed."""


class ThisMachine:
    """A context manager over its workers; `commands` are those that differ from `COMMANDS`.

    `telemetry` is what is read of the devices while a round runs; None reads nothing. What
    measures runs on `cores`, () for any; this thread keeps off them, if there are others, until
    this is closed. An export never runs beside a round, so that it may use them all.
    """

    def __init__(
        self,
        telemetry: Telemetry | None = None,
        commands: Mapping[str, Sequence[str]] | None = None,
        cores: Collection[int] = (),
    ) -> None:
        self.telemetry = telemetry or Telemetry()
        self._commands = {**COMMANDS, **(commands or {})}
        self._bell = Bell()
        self._idle: list[Talk] = []
        self._usable, self._cores = usable_cores(), cores
        others = self._usable.difference(cores)
        self._left = bool(cores and others)
        if self._left:
            keep_to(others)

    def start(self, kind: str) -> Talk:
        if not self._cores:
            return Child(self._commands[kind], self._bell)
        with on_cores(self._usable if kind == "export" else self._cores):
            return Child(self._commands[kind], self._bell)

    def exporter(self) -> Talk:
        while self._idle:
            idle = self._idle.pop()
            if not idle.ended():
                return idle
            idle.close()
        return self.start("export")

    def give_back(self, exporter: Talk) -> None:
        if _is_large(exporter):
            exporter.close()
        else:
            self._idle.append(exporter)

    def be_quiet(self) -> None:
        """End idle exporters: they hold nothing that is not stored, and cores and memory."""
        for exporter in self._idle:
            exporter.close()
        self._idle.clear()

    def wait(self, seconds: float) -> None:
        """Until a worker says something, at the latest after so long."""
        self._bell.wait(seconds)

    def close(self) -> None:
        self.be_quiet()
        self._bell.close()
        if self._left:
            keep_to(self._usable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_large(exporter: Talk) -> bool:
    try:
        return exporter.pid is None or (
            psutil.Process(exporter.pid).memory_info().rss > EXPORTER_LIMIT_BYTES
        )
    except psutil.Error:
        return True
