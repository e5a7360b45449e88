"""A host's side of a link: a share of a run, measured by the batch mode, its files sent back."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from typing import Any

from app.cases.errors import disk_remedy
from app.machine.child import STEERED, Child
from app.machine.environment import graphlap_version, this_machine
from app.machine.placement import keep_to, usable_cores
from app.remote.facts import host_here
from app.remote.link import BEAT, BEAT_S, BLOCK_BYTES, SILENCE_S, HostError, data_of, data_text
from exporters import install_layout
from exporters.cache import Store, default_limit_bytes, default_root, key_of
from exporters.child_setup import taken_streams
from exporters.codec import object_of, to_json
from exporters.file_access import file_sha256, private_folder
from exporters.types import GraphlapError

LOCK_WAIT_S = 60.0
"""A machine that measures for somebody else is waited for so long."""
_LOOK_S = 0.25
_MOST_WAITING = 64
"""Messages that wait to be taken: beyond, who sends waits."""
SENT = ("journal", "samples", "telemetry", "operators")
"""The folders of a share that are sent back: all else follows from them."""
_LAUNCHER_PREFIXES = (
    *("BLIS_", "GOMP_", "KMP_", "MALLOC_", "MKL_", "NUMEXPR_", "OMP_", "OPENBLAS_", "VECLIB_"),
)
"""Of what launchers set for engines' threads and memory, which a share goes without."""


class Host:
    """Serves one run over a pair of descriptors until the link is gone; see `serve`."""

    def __init__(self, source: int, target: int, cores: Collection[int], machine: str) -> None:
        usable = usable_cores()
        if strangers := set(cores) - usable:
            raise HostError(
                f"core {min(strangers)} is not there, or not allowed to this process",
                f"choose among {sorted(usable)}",
            )
        self._cores, self._machine = set(cores) or usable, machine
        self._source, self._target = source, os.fdopen(target, "w", encoding="ascii")
        self._writing, self._end_event = Lock(), Event()
        self._root = default_root() / "worker"
        self._store = Store(self._root, default_limit_bytes())
        self._lines: Queue[bytes] = Queue(_MOST_WAITING)
        self._heard_s = time.monotonic()

    def serve(self) -> int:
        """Until the link is gone, or silent for too long; returns the exit code."""
        for task in (self._listen, self._beat):
            Thread(target=task, daemon=True).start()
        try:
            self._send({"graphlap": graphlap_version()})
            while True:
                values = self._next()
                if "doctor" in values:
                    name = str(values["doctor"])
                    self._send({"host": to_json(host_here(name, self._machine, self._cores))})
                elif "share" in values:
                    self._answer_share(values["share"])
        except (BrokenPipeError, EOFError):
            pass  # the run is gone, which is an end like any other
        finally:
            self._end_event.set()
            with self._writing, contextlib.suppress(OSError):
                self._target.close()
        return 0

    def _answer_share(self, files: Mapping[str, str]) -> None:
        """Whatever becomes of it, the run is told."""
        try:
            with self._store.scratch() as scratch:
                code, error = self._measure(files, scratch)
            self._send({"ended": code, "error": error})
        except BrokenPipeError:  # that is the link
            raise
        except GraphlapError as fault:
            self._send({"refused": str(fault)})
        except OSError as error:
            remedy = f"{disk_remedy(str(error))} there, or set GRAPHLAP_CACHE to another folder"
            cause = f"{self._root} can't be written there ({error.strerror})"
            self._send({"refused": f"{cause}: {remedy}"})

    def _measure(self, files: Mapping[str, str], scratch: Path) -> tuple[int, str]:
        """The exit code of the batch mode, and the last that it said."""
        share = scratch / "share"
        stored = self._bring(list(files.values()), scratch)
        private_folder(share)
        for name, digest in files.items():
            place = Path(os.path.normpath(share / name))
            if not place.is_relative_to(share):
                raise HostError(f"{name!r:.80} is no file's name", "use the same Graphlap on both")
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(stored[digest], place)
            except OSError:  # a file system without links
                shutil.copyfile(stored[digest], place)
        sent = _Sent(share)
        with self._machine_to_itself():
            keep_to(self._cores)
            own = {
                n: text for n, text in os.environ.items() if not n.startswith(_LAUNCHER_PREFIXES)
            }
            command = install_layout.command("app", "resume", str(share), "--quiet")
            child = Child(command, environ={**own, STEERED: "1"})
            try:
                return self._follow(child, sent)
            finally:
                child.close()

    def _bring(self, digests: Sequence[str], scratch: Path) -> Mapping[str, Path]:
        """The files of these contents, of which those are sent that are not here."""
        entries = {digest: self._store.get(key_of(sha256=digest)) for digest in digests}
        self._send({"lacks": [digest for digest, entry in entries.items() if entry is None]})
        for digest, entry in entries.items():
            if entry is None:
                part = scratch / "part"
                with part.open("wb") as file:
                    while data := data_of(self._next()):
                        file.write(data)
                if file_sha256(part) != digest:
                    raise HostError(
                        f"the file {digest:.12} has another content than it should",
                        "it changed while it was sent: resume the run",
                    )
                entries[digest] = self._store.put(key_of(sha256=digest), {}, {"file": part})
                self._store.settle()
        return {digest: entry.files["file"] for digest, entry in entries.items() if entry}

    def _follow(self, child: Child, sent: _Sent) -> tuple[int, str]:
        """Send what the child writes until it is gone; pass on what it is told."""
        while True:
            if "stop" in self._take(_LOOK_S):
                child.send("stop")
            child.lines()
            is_over = child.ended()
            for values in sent.news():
                self._send(values)
            if is_over:
                return child.exit_code(), child.how_it_ended()

    def _listen(self) -> None:
        """Keep what the run sends until it is taken; at its end an empty line."""
        partial = b""
        while data := os.read(self._source, BLOCK_BYTES):
            *lines, partial = (partial + data).split(b"\n")
            for line in filter(None, lines):
                self._lines.put(line)
        self._lines.put(b"")

    def _next(self) -> dict[str, Any]:
        """The next message of the run; EOFError at its end."""
        while not (values := self._take(BEAT_S)):
            pass
        return values

    def _take(self, wait_s: float) -> dict[str, Any]:
        """The next message, nothing where none comes in this time; EOFError once the run is gone,
        or silent for too long."""
        try:
            line = self._lines.get(timeout=wait_s)
        except Empty:
            if time.monotonic() - self._heard_s <= SILENCE_S:
                return {}
            sys.stderr.write(f"graphlap worker: no message for {SILENCE_S:g} s\n")
            line = b""
        if not line:
            raise EOFError
        self._heard_s = time.monotonic()
        values = object_of(line)
        return values if values != BEAT else {}

    def _send(self, values: dict[str, Any]) -> None:
        with self._writing:
            self._target.write(json.dumps(values) + "\n")
            self._target.flush()

    def _beat(self) -> None:
        while not self._end_event.wait(BEAT_S):
            try:
                self._send(BEAT)
            except (OSError, ValueError):  # it is closed
                return

    @contextlib.contextmanager
    def _machine_to_itself(self) -> Iterator[None]:
        """Once nobody else measures on this machine; HostError after `LOCK_WAIT_S`."""
        name = hashlib.sha256((self._machine or this_machine()).encode()).hexdigest()[:16]
        path = self._root / f"turn-{name}"
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            until_s, has_said = time.monotonic() + LOCK_WAIT_S, False
            while not _locked(lock):
                if not has_said:
                    self._send({"waits": f"another run measures there, waiting {LOCK_WAIT_S:g} s"})
                has_said = True
                if time.monotonic() > until_s:
                    raise HostError("another run measures there", "wait for its end, then resume")
                self._take(_LOOK_S)
            yield
        finally:
            os.close(lock)


class _Sent:
    """What was sent of a share's files. A journal's lines go after the files that they tell of."""

    def __init__(self, share: Path) -> None:
        self._share = share
        # What came with the share is where it came from.
        stats = {path: path.stat() for folder in SENT for path in (share / folder).glob("*")}
        self._sent = {path: (status.st_ino, status.st_size) for path, status in stats.items()}

    def news(self) -> Iterator[dict[str, Any]]:
        """What was added since the last call, block by block."""
        first, *others = SENT
        journals = {path: path.stat().st_size for path in (self._share / first).glob("*.jsonl")}
        for folder in others:
            for path in sorted((self._share / folder).glob("*")):
                if not path.name.startswith("."):
                    yield from self._news_of(path)
        for path, size in sorted(journals.items()):
            yield from self._news_of(path, size)

    def _news_of(self, path: Path, end: int | None = None) -> Iterator[dict[str, Any]]:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                inode, offset = self._sent.get(path, (status.st_ino, 0))
                if inode != status.st_ino or status.st_size < offset:
                    offset = 0  # it was written anew
                size = status.st_size if end is None else end
                file.seek(offset)
                while offset < size and (data := file.read(min(BLOCK_BYTES, size - offset))):
                    name = path.relative_to(self._share).as_posix()
                    yield {"file": name, "offset": offset, "data": data_text(data)}
                    offset += len(data)
                self._sent[path] = status.st_ino, offset
        except FileNotFoundError:  # of a round that was dropped at this moment
            return


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks has no turns
        return True
    return True


def serve_standard_streams(cores: Collection[int] = (), machine: str = "") -> int:
    """Serve whoever started this process; its standard output is nobody else's from then on."""
    return Host(*taken_streams(), cores, machine).serve()
