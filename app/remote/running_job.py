"""A job on its host: its paths and environment there, its turn, its output, limits and end."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from app.machine.child import Bell, Child
from app.machine.telemetry import Watch
from app.remote.contract import (
    BLOCK_BYTES,
    ENGINES,
    FILE,
    SAMPLES,
    Block,
    CarrierError,
    Ended,
    Hear,
    HostJob,
    Said,
    Told,
)
from app.remote.workspace import plain
from exporters.codec import object_of, to_json


def line_there(job: HostJob, folder: Path, samples: Path, engines: Path) -> dict[str, Any]:
    """The values of the line, its files in `folder`; CarrierError for a line that can't be read."""
    names_by_sha256 = {file.sha256: file.name for file in job.files}

    def place_value(value: Any) -> Any:
        match value:
            case str() if value.startswith(FILE):
                rest = value.removeprefix(FILE)
                sha256, _, name = rest.partition("/")
                name, colon, function = name.partition(":")
                if names_by_sha256.get(sha256) != name:
                    raise CarrierError(
                        f"the job {job.id} names the file {name!r:.80}, which it did not bring",
                        "use the same Graphlap on both sides",
                    )
                return f"{folder / plain(name)}{colon}{function}"
            case str() if value == SAMPLES:
                return str(samples)
            case str() if value == ENGINES:
                return str(engines)
            case dict():
                return {key: place_value(item) for key, item in value.items()}
            case list():
                return [place_value(item) for item in value]
        return value

    try:
        values = json.loads(job.line)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise CarrierError(f"the job {job.id} is no JSON", "use the same Graphlap on both sides")
    line: dict[str, Any] = place_value(values)
    return line


_LAUNCHER_PREFIXES = (
    "BLIS_",
    "GOMP_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "NUMEXPR_",
    "OMP_",
    "OPENBLAS_",
    "VECLIB_",
)


def scrubbed(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What is left of it."""
    return {name: text for name, text in environ.items() if not name.startswith(_LAUNCHER_PREFIXES)}


class Turn:
    """`path` is a file that all agents of the machine know. OSError if it can't be made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def taken(self, given_up: Event) -> Iterator[bool]:
        """Wait for the turn and keep it to the end of the block; False once it was given up.

        A file system without locks has no turns.
        """
        waiting = _Waiting(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), given_up)
        try:
            yield waiting.wait()
        finally:
            waiting.close()


class _Waiting:
    """Where the lock is not free a thread waits for it, since nothing else can be woken so."""

    def __init__(self, descriptor: int, wake_event: Event) -> None:
        self._descriptor, self._wake_event = descriptor, wake_event
        self._lock = Lock()
        self._has_it = self._thread_has_file = self._is_over = False

    def wait(self) -> bool:
        """Whether it is ours; False once `woken` was set by somebody else."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._has_it = True
        except BlockingIOError:
            self._thread_has_file = True
            Thread(target=self._wait, daemon=True).start()
            self._wake_event.wait()
        except OSError:
            self._has_it = True
        with self._lock:
            return self._has_it

    def close(self) -> None:
        """Let go of it, now or as soon as the thread has it."""
        with self._lock:
            self._is_over = True
            if not self._thread_has_file:
                os.close(self._descriptor)

    def _wait(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        finally:
            with self._lock:
                self._has_it, self._thread_has_file = True, False
                if self._is_over:
                    os.close(self._descriptor)
            self._wake_event.set()


LOOK_EVERY_S = 0.5
"""So often samples are looked for, and an end that no pipe tells of."""


class UnderWay:
    """`run` to the end of the worker; `samples` is the file that it writes, None for none.

    A worker that is still there after `limit_s` is ended, also where nobody waits for it any more.
    """

    def __init__(
        self,
        child: Child,
        bell: Bell,
        watch: Watch,
        samples: Path | None,
        hear: Hear,
        limit_s: float,
    ) -> None:
        self._child, self._bell, self._watch, self._hear = child, bell, watch, hear
        self._samples, self._limit_s = samples, limit_s
        self._told_bytes = 0

    def run(self) -> None:
        """Tell all that comes of it; the last message is `Ended`."""
        start_s = time.monotonic()
        samples_due, ends, too_late = start_s + LOOK_EVERY_S, start_s + self._limit_s, False
        while True:
            has_ended = self._child.ended()
            self._tell_lines()
            if has_ended:
                break
            self._look()
            now = time.monotonic()
            if now >= samples_due:
                self._tell_samples()
                samples_due = now + LOOK_EVERY_S
            if now >= ends and not too_late:
                too_late = True
                self._child.kill()
            self._bell.wait(min(samples_due, self._watch.due()) - now)
        self._tell_samples()
        self._hear(
            Ended(
                self._child.how_it_ended(),
                out_of_memory=self._child.ran_out_of_memory(),
                killed=self._child.was_killed(),
                too_large=self._watch.too_large,
                too_late=too_late,
                exit_code=self._child.exit_code(),
            )
        )

    def _tell_lines(self) -> None:
        for line in self._child.lines():
            self._hear(Said(line))
            if '"device"' in line:
                self._note_device(line)

    def _note_device(self, line: str) -> None:
        """The worker has said which GPU it computes on, of several one by one: how that is set,
        only its host can tell."""
        message = object_of(line)
        if message.get("event") == "device":
            uuid, device = (str(message.get(name, "")) for name in ("uuid", "device"))
            state = self._watch.computes_on(uuid, device)
            if state is not None:
                self._hear(Said(json.dumps({"event": "gpu", **to_json(state)})))

    def _look(self) -> None:
        readings = self._watch.look()
        if readings:
            self._hear(Told(readings))
        if self._watch.too_large:
            self._child.kill()

    def _tell_samples(self) -> None:
        """All that was added to the file since the last look."""
        if self._samples is None:
            return
        try:
            with self._samples.open("rb") as file:
                file.seek(self._told_bytes)
                while data := file.read(BLOCK_BYTES):
                    self._hear(Block(self._told_bytes, data))
                    self._told_bytes += len(data)
        except FileNotFoundError:
            return  # its first samples are still to come
