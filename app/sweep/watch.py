"""The parent's eye on a measuring process: its memory against a limit, and what devices tell.

A few looks a second from outside; nothing of it happens in the process that is timed.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field

import psutil

from app.cases.reading import Reading
from app.machine.telemetry import LOOK_EVERY_S, Telemetry
from app.sweep.jobs import RoundJob

MEMORY_LOOK_EVERY_S = 0.02
"""A process can fill a gigabyte in a fifth of a second."""
GPU = "gpu:"


@dataclass(slots=True)
class Watch:
    """Asked by the engine's poll; `due` is when it wants to look again (monotonic seconds)."""

    job: RoundJob
    pid: int
    telemetry: Telemetry
    too_large: bool = False
    _gpus: tuple[int, ...] = ()
    _process: psutil.Process | None = None
    _due: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._gpus = tuple(sorted(_gpus(self.job)))
        now = time.monotonic()
        if self.job.memory_limit_bytes:
            self._due["memory"] = now
            with contextlib.suppress(psutil.Error):
                self._process = psutil.Process(self.pid)
        if self.telemetry.watches(self._gpus):
            self._due["devices"] = now

    def due(self) -> float:
        return min(self._due.values(), default=math.inf)

    def look(self) -> tuple[Reading, ...]:
        """Look at what is due; `too_large` is True from when the process broke its limit."""
        now = time.monotonic()
        if now >= self._due.get("memory", math.inf):
            self._due["memory"] = now + MEMORY_LOOK_EVERY_S
            self.too_large |= self._held_bytes() > self.job.memory_limit_bytes
        if now < self._due.get("devices", math.inf):
            return ()
        self._due["devices"] = now + LOOK_EVERY_S
        return self.telemetry.read(self.pid, self._gpus)

    def _held_bytes(self) -> int:
        try:
            return int(self._process.memory_info().rss) if self._process else 0
        except psutil.Error:
            return 0


def _gpus(job: RoundJob) -> set[int]:
    numbers = [name.removeprefix(GPU) for name in job.needs.alone if name.startswith(GPU)]
    return {int(number) for number in numbers if number.isdecimal()}
