"""The channel of a worker on another machine: its job and files there, its bounded output back."""

from __future__ import annotations

import math
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from app.cases.errors import unwritable
from app.cases.round import MeasureJob
from app.cases.telemetry import GpuState, Reading
from app.remote.contract import (
    ENGINES,
    FILE,
    SAMPLES,
    Block,
    Carrier,
    CarrierError,
    Ended,
    HostFile,
    HostJob,
    Lost,
    Message,
    Said,
    Told,
)
from app.remote.wire import write_whole
from app.sweep.work.base import WorkerChannel
from exporters.file_access import file_sha256
from exporters.model_names import is_factory_file, is_hugging_face
from exporters.types import ExportedModel, Factory, axes_key
from runtimes.options import Settings

_SHA256 = re.compile(r"[0-9a-f]{64}")


def prepare_job(job: MeasureJob, send_code: bool) -> tuple[MeasureJob, tuple[HostFile, ...]]:
    """The job as the host is told it, and the files that it names; OSError for one that is gone."""
    files = _Files()
    points = [*job.shapes, *(batch.axes for batch in job.batches), job.axes]
    keys = {axes_key(axes) for axes in points}
    neighbour = job.neighbour
    if neighbour is not None:
        key = {axes_key(neighbour.model.axes)}
        model = _model(neighbour.model, key, files, send_code)
        neighbour = replace(neighbour, model=model, settings=_settings(neighbour.settings))
    remote_job = replace(
        job,
        model=_model(job.model, keys, files, send_code),
        settings=_settings(job.settings),
        samples_path=SAMPLES,
        batches=tuple(_model(batch, keys, files, send_code) for batch in job.batches),
        neighbour=neighbour,
    )
    return remote_job, files.unique_files


def prepare_model(
    model: ExportedModel, axes: Mapping[str, int], send_code: bool
) -> tuple[ExportedModel, tuple[HostFile, ...]]:
    """A model with its reference at one point, and its files; OSError likewise."""
    files = _Files()
    remote_model = _model(model, {axes_key(model.at(axes).axes)}, files, send_code)
    return remote_model, files.unique_files


class _Files:
    """Each once, by content; two of one name and another content get names of their own."""

    def __init__(self) -> None:
        self._by_content: dict[str, HostFile] = {}

    @property
    def unique_files(self) -> tuple[HostFile, ...]:
        return tuple(self._by_content.values())

    def reference_to(self, text: str) -> str:
        """How the job names the file at this path."""
        path = Path(text)
        # What the cache keeps is called by its content, and was read whole when it was taken.
        sha256 = path.stem if _SHA256.fullmatch(path.stem) else file_sha256(path)
        if sha256 not in self._by_content:
            is_name_used = any(file.name == path.name for file in self._by_content.values())
            name = f"{sha256[:12]}-{path.name}" if is_name_used else path.name
            self._by_content[sha256] = HostFile(sha256, path.stat().st_size, name, path)
        return f"{FILE}{sha256}/{self._by_content[sha256].name}"


def _model(
    model: ExportedModel, keys: Collection[str], files: _Files, send_code: bool
) -> ExportedModel:
    return replace(
        model,
        path=files.reference_to(model.path),
        beside=tuple(map(files.reference_to, model.beside)),
        references={
            key: files.reference_to(path) for key, path in model.references.items() if key in keys
        },
        rotation={
            key: tuple(map(files.reference_to, paths))
            for key, paths in model.rotation.items()
            if key in keys
        },
        custom_ops=tuple(map(files.reference_to, model.custom_ops)),
        fixed={},
        factory=_factory(model.factory, files, send_code),
    )


def _factory(factory: Factory | None, files: _Files, send_code: bool) -> Factory | None:
    """None for a module of the user's own files that stay here: its graph is all that goes."""
    if factory is None:
        return None
    target = factory.target
    if is_hugging_face(target):
        return None
    if is_factory_file(target):
        path, colon, function = target.rpartition(":")
        if not send_code:
            return None
        target = f"{files.reference_to(path)}{colon}{function}"
    weights = factory.weights
    return replace(
        factory, target=target, weights=files.reference_to(weights) if weights else weights
    )


def _settings(settings: Settings) -> Settings:
    return replace(settings, cache_dir=ENGINES if settings.cache_dir else "")


MAXIMUM_SAMPLES_BYTES = 4 << 30
MAXIMUM_WAITING_BYTES = 1 << 30
"""Of samples that have arrived and are not written yet."""
MAXIMUM_LINES_BYTES, MAXIMUM_MESSAGES = 128 << 20, 500_000
"""Of one job: a flood of either keeps the sweep busy. A round sends some lines in each second."""
AGENT_MARGIN_S = 60.0
"""A host ends a job by itself so long after the sweep's own limits, if that was forgotten."""
END_LIMIT_S, LONGEST_END_S = 30.0, 600.0
"""After a job was killed, samples that are still on their way may come; without any for the former,
and after the latter in any case, the host is lost."""


class HostChannel:
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
        self._inbox: deque[Message] = deque()
        self._lines: list[str] = []
        self._readings: list[Reading] = []
        self._file: BinaryIO | None = None
        self._has_sent = self._has_begun = self._is_closed = False
        self._end: Ended | None = None
        self.lost, self.is_ours = "", False
        self.too_large = False
        self.crc32, self.arrived_bytes = 0, 0
        self._samples_bytes = self._lines_bytes = self._messages = 0
        self._killed_s: float | None = None
        self._moved_s = 0.0

    def send(self, line: str) -> None:
        if self._has_sent:
            self._carrier.cancel(self._host, self._job.id, "stop")
            return
        self._has_sent = True
        self._carrier.run(self._host, replace(self._job, line=line), self._receive)

    def lines(self) -> list[str]:
        self._take_all()
        lines, self._lines = self._lines, []
        return lines

    def begun(self) -> bool:
        self._take_all()
        return self._has_begun

    def ended(self) -> bool:
        self._take_all()
        if self._end is None and not self.lost and self._is_disobeyed():
            self.lost = "it did not end a job that was killed"
            self._carrier.cancel(self._host, self._job.id, "kill")
        return self._end is not None or bool(self.lost)

    def how_it_ended(self) -> str:
        return self._end.how if self._end is not None else self.lost

    def exit_code(self) -> int:
        return self._end.exit_code if self._end is not None else 1

    def ran_out_of_memory(self) -> bool:
        return self._end is not None and self._end.out_of_memory

    def was_killed(self) -> bool:
        return self._end is not None and self._end.killed

    def terminate(self) -> None:
        self._carrier.cancel(self._host, self._job.id, "terminate")

    def kill(self) -> None:
        if self._killed_s is None:
            self._killed_s = self._moved_s = time.monotonic()
            self._carrier.cancel(self._host, self._job.id, "kill")

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
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

    def _receive(self, message: Message) -> None:
        """In any thread; CarrierError once there is more than a job may have."""
        if self._is_closed or self.lost:
            return
        if not isinstance(message, Lost):
            self._refuse_too_much(message)
        self._inbox.append(message)
        self._ring()

    def _refuse_too_much(self, message: Message) -> None:
        match message:
            case Said(line):
                self._messages += 1
                self._lines_bytes += len(line)
            case Told(readings):
                self._messages += 1 + len(readings)
            case Block(_, data):
                self._messages += 1
                self._samples_bytes += len(data)
        waiting_bytes = self._samples_bytes - self.arrived_bytes
        if (
            self._messages > MAXIMUM_MESSAGES
            or self._lines_bytes > MAXIMUM_LINES_BYTES
            or self._samples_bytes > MAXIMUM_SAMPLES_BYTES
            or waiting_bytes > MAXIMUM_WAITING_BYTES
        ):
            raise CarrierError("it sends more than a job may have", "see what runs there")

    def _is_disobeyed(self) -> bool:
        """Whether the job goes on too long after it was killed."""
        if self._killed_s is None:
            return False
        now_s = time.monotonic()
        silent_s, since_s = now_s - self._moved_s, now_s - self._killed_s
        return silent_s > END_LIMIT_S or since_s > LONGEST_END_S

    def _take_all(self) -> None:
        while self._inbox and not self._is_closed:
            self._take(self._inbox.popleft())

    def _take(self, message: Message) -> None:
        self._has_begun |= not isinstance(message, Ended | Lost)
        match message:
            case Said(line):
                self._lines.append(line)
            case Block(offset, data):
                self._write(offset, data)
            case Told(readings):
                self._readings += readings
            case Ended():
                self._end, self.too_large = message, message.too_large
                if message.too_late:
                    self.lost = f"it ended the job at its limit of {self._job.limit_s:g} s"
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
            raise unwritable(self._path, error, ", then resume it", " any more") from error
        self.crc32 = zlib.crc32(data, self.crc32)
        self.arrived_bytes += len(data)
        self._moved_s = time.monotonic()


class HostLauncher:
    """Where the worker of one job is, which its host starts and looks at."""

    def __init__(self, talk: HostChannel) -> None:
        self._talk = talk

    def start(self, kind: str, environment: str = "") -> HostChannel:
        return self._talk

    def watch(
        self, worker: WorkerChannel, memory_limit_bytes: int, gpus: tuple[int, ...]
    ) -> HostChannel:
        return self._talk
