"""This machine as the place where work runs: workers are child processes of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import psutil

from app.machine.bell import Bell
from app.machine.child import Child
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

    `telemetry` is what is read of the devices while a round runs; None reads nothing.
    """

    def __init__(
        self,
        telemetry: Telemetry | None = None,
        commands: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.telemetry = telemetry or Telemetry()
        self._commands = {**COMMANDS, **(commands or {})}
        self._bell = Bell()
        self._idle: list[Talk] = []

    def start(self, kind: str) -> Talk:
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
