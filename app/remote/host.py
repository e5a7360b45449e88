"""A host's side of a link: a share of a run, measured by the batch mode, its files sent back."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from app.machine.child import STEERED, Bell, Child
from app.machine.environment import graphlap_version, this_machine
from app.machine.placement import keep_to, usable_cores
from app.remote.facts import host_here
from app.remote.link import (
    BEAT,
    BEAT_S,
    BLOCK_BYTES,
    SILENCE_S,
    Frames,
    HostError,
    Message,
    frame,
    write_whole,
)
from app.remote.store import FileStore, disk_there, own_folder, plain
from exporters import install_layout
from exporters.cache import default_limit_bytes, default_root
from exporters.codec import to_json
from exporters.file_access import private_folder
from exporters.types import GraphlapError

LOCK_WAIT_S = 60.0
"""A machine that measures for somebody else is waited for so long."""
_LOOK_S = 0.25
SENT = ("journal", "samples", "telemetry", "operators")
"""The folders of a share that are sent back: all else follows from them."""
_LAUNCHER_PREFIXES = (
    *("BLIS_", "GOMP_", "KMP_", "MALLOC_", "MKL_", "NUMEXPR_", "OMP_", "OPENBLAS_", "VECLIB_"),
)


def scrubbed(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """An environment without what launchers set for engines' threads and memory."""
    return {name: text for name, text in environ.items() if not name.startswith(_LAUNCHER_PREFIXES)}


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
        self._source, self._target = source, os.fdopen(target, "wb", buffering=0)
        self._writing, self._end_event = Lock(), Event()
        self._root = default_root() / "worker"
        with disk_there(self._root):
            private_folder(self._root.parent)
            private_folder(self._root)
        self._store = FileStore(self._root, default_limit_bytes())
        self._frames, self._bell = Frames(), Bell()
        self._waiting: list[Message] = []
        self._heard_s = time.monotonic()

    def serve(self) -> int:
        """Until the link is gone, or silent for too long; returns the exit code."""
        self._bell.watch(self._source)
        Thread(target=self._beat, daemon=True).start()
        try:
            self._send({"graphlap": graphlap_version()})
            for values, _ in self._messages():
                if "doctor" in values:
                    name = str(values["doctor"])
                    self._send({"host": to_json(host_here(name, self._machine, self._cores))})
                elif "share" in values:
                    self._answer_share(values["share"])
        except (BrokenPipeError, EOFError):
            pass  # the run is gone, which is an end like any other
        finally:
            self._end_event.set()
            self._bell.close()
            with self._writing, contextlib.suppress(OSError):
                self._target.close()
        return 0

    def _answer_share(self, files: Any) -> None:
        """Whatever becomes of it, the run is told."""
        try:
            with own_folder(self._root / "shares") as scratch:
                code, error = self._measure(files, scratch)
            self._send({"ended": code, "error": error})
        except GraphlapError as fault:
            self._send({"refused": fault.cause, "action": fault.remedy})

    def _measure(self, files: Any, scratch: Path) -> tuple[int, str]:
        """The exit code of the batch mode, and the last that it said."""
        if not isinstance(files, dict) or not all(len(entry) == 2 for entry in files.values()):
            raise HostError("the files of a share can't be understood", "see `graphlap doctor`")
        self._bring({str(digest): int(size) for digest, size in files.values()}, scratch)
        share = scratch / "share"
        private_folder(share)
        for name, (digest, _) in files.items():
            self._store.link(str(digest), share / plain(name))
        sent = _Sent(share)
        with self._machine_to_itself():
            keep_to(self._cores)
            environ = {**scrubbed(), STEERED: "1"}
            command = install_layout.command("app", "resume", str(share), "--quiet")
            child = Child(command, self._bell, environ)
            try:
                return self._follow(child, sent)
            finally:
                child.close()

    def _bring(self, sizes: Mapping[str, int], scratch: Path) -> None:
        """Have sent what is not here."""
        lacking = [digest for digest in sizes if not self._store.has(digest)]
        for digest in lacking:
            self._store.refuse_large(sizes[digest])
        self._send({"lacks": lacking})
        part = scratch / "part"
        for digest in lacking:
            with disk_there(scratch), part.open("wb") as file:
                missing = sizes[digest]
                while missing > 0:
                    values, data = next(self._messages())
                    if "content" not in values:
                        raise HostError("a file did not come whole", "resume the run")
                    file.write(data)
                    missing -= len(data)
            self._store.take(digest, part)

    def _follow(self, child: Child, sent: _Sent) -> tuple[int, str]:
        """Send what the child writes until it is gone; pass on what it is told."""
        while True:
            for values, _ in self._arrived():
                if "stop" in values:
                    child.send("stop")
            child.lines()
            is_over = child.ended()
            for values, data in sent.news():
                self._send(values, data)
            if is_over:
                return child.exit_code(), child.how_it_ended()
            self._bell.wait(_LOOK_S)

    def _messages(self) -> Iterator[Message]:
        """What the run sends, one after the other; EOFError at its end."""
        while True:
            while self._waiting:
                yield self._waiting.pop(0)
            self._bell.wait(BEAT_S)
            self._waiting = self._arrived()

    def _arrived(self) -> list[Message]:
        """What has come since the last call; EOFError once the run is gone."""
        messages, self._waiting = self._waiting, []
        while _can_read(self._source):
            data = os.read(self._source, BLOCK_BYTES)
            if not data:
                raise EOFError
            self._heard_s = time.monotonic()
            messages += [message for message in self._frames.take(data) if message[0] != BEAT]
            if messages:
                break
        if time.monotonic() - self._heard_s > SILENCE_S:
            sys.stderr.write(f"graphlap worker: no message for {SILENCE_S:g} s\n")
            raise EOFError
        return messages

    def _send(self, values: dict[str, Any], data: bytes = b"") -> None:
        with self._writing:
            write_whole(self._target, frame(values, data))

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
        with disk_there(path):
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            until_s, has_said = time.monotonic() + LOCK_WAIT_S, False
            while not _locked(lock):
                if not has_said:
                    self._send({"waits": f"another run measures there, waiting {LOCK_WAIT_S:g} s"})
                has_said = True
                if time.monotonic() > until_s:
                    raise HostError("another run measures there", "wait for its end, then resume")
                self._waiting = self._arrived()
                time.sleep(_LOOK_S)
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

    def news(self) -> Iterator[Message]:
        """What was added since the last call, block by block."""
        first, *others = SENT
        journals = {path: path.stat().st_size for path in (self._share / first).glob("*.jsonl")}
        for folder in others:
            for path in sorted((self._share / folder).glob("*")):
                if not path.name.startswith("."):
                    yield from self._news_of(path)
        for path, size in sorted(journals.items()):
            yield from self._news_of(path, size)

    def _news_of(self, path: Path, end: int | None = None) -> Iterator[Message]:
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
                    yield {"file": name, "offset": offset}, data
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


def _can_read(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], 0)[0])


def serve_standard_streams(cores: Collection[int] = (), machine: str = "") -> int:
    """Serve whoever started this process; its standard output is nobody else's from then on."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Host(source, target, cores, machine).serve()
