"""A worker on another machine: what its carrier hears of it, kept until the sweep asks.

The carrier's threads only add to a queue and ring; samples are written by the thread of the sweep,
where a full disk ends it as it does for a round of this machine.
"""

from __future__ import annotations

import math
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from app.carriers.contract import Block, Carrier, Ended, HostJob, Lost, Message, Said, Told
from app.carriers.wire import write_whole
from app.cases.disk import unwritable
from app.cases.gpu_state import GpuState
from app.cases.reading import Reading
from app.sweep.work.base import Talk


class HostTalk:
    """A `Talk` and the `Eye` on it in one: its host looks at it, and tells what it sees.

    `job` lacks its line, which is the first that is sent. The samples arrive in the file `samples`;
    `crc32` is that of what has arrived. `lost` says why nothing more is heard, empty otherwise, and
    `is_ours` that it is for want of something on this machine.
    """

    pid: int | None = None

    def __init__(
        self, carrier: Carrier, host: str, job: HostJob, samples: Path, ring: Callable[[], None]
    ) -> None:
        self._carrier, self._host, self._job = carrier, host, job
        self._path, self._ring = samples, ring
        self._heard: deque[Message] = deque()
        self._lines: list[str] = []
        self._readings: list[Reading] = []
        self._file: BinaryIO | None = None
        self._sent = self._begun = self._closed = False
        self._end: Ended | None = None
        self.lost, self.is_ours = "", False
        self.too_large = False
        self.crc32, self.arrived_bytes = 0, 0

    def send(self, line: str) -> None:
        if self._sent:
            self._carrier.cancel(self._host, self._job.id, "stop")
            return
        self._sent = True
        self._carrier.run(self._host, replace(self._job, line=line), self._hear)

    def lines(self) -> list[str]:
        self._take_all()
        lines, self._lines = self._lines, []
        return lines

    def begun(self) -> bool:
        self._take_all()
        return self._begun

    def ended(self) -> bool:
        self._take_all()
        return self._end is not None or bool(self.lost)

    def how_it_ended(self) -> str:
        return self._end.how if self._end is not None else self.lost

    def ran_out_of_memory(self) -> bool:
        return self._end is not None and self._end.out_of_memory

    def was_killed(self) -> bool:
        return self._end is not None and self._end.killed

    def terminate(self) -> None:
        self._carrier.cancel(self._host, self._job.id, "terminate")

    def kill(self) -> None:
        self._carrier.cancel(self._host, self._job.id, "kill")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._end is None and not self.lost:
                self.kill()
            if self._file is not None:
                self._file.close()

    def computes_on(self, uuid: str, device: str = "") -> GpuState | None:
        """Its host tells of its own accord."""
        return None

    def due(self) -> float:
        return math.inf

    def look(self) -> tuple[Reading, ...]:
        self._take_all()
        readings, self._readings = tuple(self._readings), []
        return readings

    def _hear(self, message: Message) -> None:
        """In any thread."""
        self._heard.append(message)
        self._ring()

    def _take_all(self) -> None:
        while self._heard and not self._closed:
            self._take(self._heard.popleft())

    def _take(self, message: Message) -> None:
        self._begun |= not isinstance(message, Ended | Lost)
        match message:
            case Said(line):
                self._lines.append(line)
            case Block(offset, data):
                self._write(offset, data)
            case Told(readings):
                self._readings += readings
            case Ended():
                self._end, self.too_large = message, message.too_large
            case Lost(reason, is_ours):
                self.lost, self.is_ours = reason, is_ours

    def _write(self, offset: int, data: bytes) -> None:
        if self.lost:
            return
        if offset != self.arrived_bytes:
            self.lost = "a part of its samples did not arrive"
            self.kill()
            return
        try:
            if self._file is None:
                # Anew: a follower may have mapped what a round cut short left behind.
                self._path.unlink(missing_ok=True)
                self._file = cast(BinaryIO, self._path.open("wb", buffering=0))
            write_whole(self._file, data)
        except OSError as error:
            raise unwritable(self._path, error, ", then --resume it", " any more") from error
        self.crc32 = zlib.crc32(data, self.crc32)
        self.arrived_bytes += len(data)


class HostPlace:
    """Where the worker of one job is, which its host starts and looks at."""

    def __init__(self, talk: HostTalk) -> None:
        self._talk = talk

    def start(self, kind: str, environment: str = "") -> HostTalk:
        return self._talk

    def watch(self, worker: Talk, memory_limit_bytes: int, gpus: tuple[int, ...]) -> HostTalk:
        return self._talk
