"""An eye on a measuring process from outside: its memory against a limit, and what devices tell.

A few looks a second from outside; nothing of it happens in the process that is timed.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field

import psutil

from app.cases.gpu_state import GpuState
from app.cases.reading import Reading
from app.machine.telemetry import LOOK_EVERY_S, Telemetry

MEMORY_LOOK_EVERY_S = 0.02
"""A process can fill a gigabyte in a fifth of a second."""


@dataclass(slots=True)
class Watch:
    """Asked between polls; `due` is when it wants to look again (monotonic seconds).

    `pid` is the process on this machine; on another, None, its own machine watches it.
    `memory_limit_bytes` 0 is no limit, `gpus` are CUDA's numbers of those that it uses. They are
    read once the process has said which they are: the numbers mean something to it alone.
    """

    pid: int | None
    memory_limit_bytes: int
    gpus: tuple[int, ...]
    telemetry: Telemetry
    too_large: bool = False
    _uuids: dict[int, str] = field(default_factory=dict)
    _process: psutil.Process | None = None
    _due: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pid is None:
            return
        now = time.monotonic()
        if self.memory_limit_bytes:
            self._due["memory"] = now
            with contextlib.suppress(psutil.Error):
                self._process = psutil.Process(self.pid)
        if self.telemetry.watches(self.gpus):
            self._due["devices"] = now

    def computes_on(self, uuid: str, device: str = "") -> GpuState | None:
        """The process has said which GPU one of its devices is, its first where it calls it
        nothing; how that is set."""
        if not (self.gpus and uuid):
            return None
        named = [gpu for gpu in self.gpus if str(gpu) == device]
        self._uuids[(named or self.gpus)[0]] = uuid
        return self.telemetry.state(uuid)

    def due(self) -> float:
        return min(self._due.values(), default=math.inf)

    def look(self) -> tuple[Reading, ...]:
        """Look at what is due; `too_large` is True from when the process broke its limit."""
        now = time.monotonic()
        if now >= self._due.get("memory", math.inf):
            self._due["memory"] = now + MEMORY_LOOK_EVERY_S
            self.too_large |= self._held_bytes() > self.memory_limit_bytes
        if now < self._due.get("devices", math.inf):
            return ()
        self._due["devices"] = now + LOOK_EVERY_S
        return () if self.pid is None else self.telemetry.read(self.pid, self._uuids)

    def _held_bytes(self) -> int:
        try:
            return int(self._process.memory_info().rss) if self._process else 0
        except psutil.Error:
            return 0
