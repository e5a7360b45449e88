"""Links to processes on hosts: JSON lines, each followed by the bytes that it announces.

A line that names `bytes` is followed by that many. Either side beats every `BEAT_S`, apart from
what it works on: a side that is silent for `SILENCE_S` is lost. What is no JSON object, such as
what a login shell prints, is passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from exporters import install_layout
from exporters.codec import object_of
from exporters.types import GraphlapError

BEAT_S, SILENCE_S = 5.0, 60.0
BEAT: dict[str, Any] = {"beat": True}
BLOCK_BYTES = 1 << 20
"""So much of a file crosses in one message at most."""
LONGEST_LINE_BYTES = 256 * 2**20
_MOST_WAITING = 256
"""Messages that have arrived and are not taken yet: beyond, who sends waits."""
_KEPT_BYTES = 4096


class HostError(GraphlapError):
    """A host, or the way to it, can't be reached or must not be used."""


Message = tuple[dict[str, Any], bytes]


def frame(values: dict[str, Any], data: bytes = b"") -> bytes:
    """A message as it crosses."""
    head = {**values, "bytes": len(data)} if data else values
    return json.dumps(head).encode("ascii") + b"\n" + data


def write_whole(file: IO[bytes], data: bytes) -> None:
    """All of it, to a file that may take less at a time; OSError."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


class Frames:
    """Cuts what arrives, in pieces of any size, into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._search_start = 0
        self._values: dict[str, Any] = {}
        self._body_size = 0

    def take(self, data: bytes) -> Iterator[Message]:
        """All that is whole by now; HostError for more than a message may have."""
        self._buffer += data
        while True:
            if self._body_size:
                if len(self._buffer) < self._body_size:
                    return
                yield self._values, self._cut(self._body_size)
                self._body_size = 0
            end = self._buffer.find(b"\n", self._search_start)
            if end < 0:
                self._search_start = len(self._buffer)
                if self._search_start > LONGEST_LINE_BYTES:
                    raise HostError("it sends a line without an end", "see what runs there")
                return
            values = object_of(self._cut(end + 1))
            size = values.get("bytes", 0)
            if type(size) is not int or not 0 <= size <= BLOCK_BYTES:
                raise HostError("it sends a block that is too large", "see what runs there")
            if size:
                self._values, self._body_size = values, size
            elif values:
                yield values, b""

    def _cut(self, size: int) -> bytes:
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._search_start = 0
        return piece


class Link(ABC):
    """A host's process as the run sees it. `lost` says why it is over, empty while it is not;
    with `is_ours` nothing is wrong with the host: what it needs is not to be had here.

    `ring` ends the waiting of the run's own thread; it may be called from any thread.
    """

    def __init__(self, host: str, ring: Callable[[], None]) -> None:
        self.host, self.lost, self.is_ours = host, "", False
        self._ring = ring
        self._frames, self._inbox = Frames(), deque[Message]()
        self._outbox: SimpleQueue[Message | Path | None] = SimpleQueue()
        self._heard_s = time.monotonic()

    def send(self, values: dict[str, Any], data: bytes = b"") -> None:
        """Have a message sent in its turn; never waits."""
        self._outbox.put((values, data))

    def send_file(self, path: Path) -> None:
        """Have the content of a file sent, block by block, in its turn: the message before says
        what it is."""
        self._outbox.put(path)

    def take(self) -> list[Message]:
        """What has arrived since the last call; notices a silence that is too long."""
        if not self.lost and time.monotonic() - self._heard_s > SILENCE_S:
            self.lose(f"no message for {SILENCE_S:g} s")
        messages = []
        while self._inbox:
            messages.append(self._inbox.popleft())
        return messages

    def lose(self, why: str) -> None:
        """End it; only the first reason counts."""
        if not self.lost:
            self.lost = why
            self._outbox.put(None)
            self._end()
            self._ring()

    @abstractmethod
    def _write(self, data: bytes) -> None:
        """Pass bytes on; OSError where nobody takes them."""

    @abstractmethod
    def _end(self) -> None:
        """End the process there."""

    def _close_input(self) -> None:  # noqa: B027 - not every way has an end of its own
        """Nothing more is sent."""

    def _begin(self) -> None:
        Thread(target=self._speak, daemon=True).start()

    def _feed(self, data: bytes) -> None:
        """Bytes that have arrived; waits while too much is not taken yet."""
        self._heard_s = time.monotonic()
        try:
            for values, body in self._frames.take(data):
                while len(self._inbox) >= _MOST_WAITING and not self.lost:
                    time.sleep(0.05)
                    self._heard_s = time.monotonic()
                if values != BEAT:
                    self._inbox.append((values, body))
        except HostError as error:
            self.lose(error.cause)
        self._ring()

    def _speak(self) -> None:
        """Send what is to be sent, and beats while there is nothing."""
        try:
            while not self.lost:
                try:
                    item = self._outbox.get(timeout=BEAT_S)
                except Empty:
                    item = (BEAT, b"")
                if item is None:
                    return
                if isinstance(item, Path):
                    self._send_content(item)
                else:
                    self._write(frame(*item))
        except OSError as error:
            self.lose(f"the connection was closed ({error.strerror or error})")
        finally:
            self._close_input()

    def _send_content(self, path: Path) -> None:
        try:
            file = path.open("rb")
        except OSError as error:
            self.is_ours = True
            self.lose(f"{path} can't be read any more ({error.strerror})")
            return
        with file:
            while data := file.read(BLOCK_BYTES):
                self._write(frame({"content": True}, data))


class PipeLink(Link):
    """A link to a process that a command starts here, or by ssh on another machine."""

    def __init__(self, host: str, command: Sequence[str], ring: Callable[[], None]) -> None:
        super().__init__(host, ring)
        self._error_output = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C of our terminal is ours to handle
                env=install_layout.child_environment(),
            )
        except OSError as error:
            raise HostError(
                f"{command[0]} can't be started ({error.strerror})",
                "install it, or correct the path",
            ) from None
        Thread(target=self._hear, daemon=True).start()
        self._begin()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin
        write_whole(self._process.stdin, data)

    def _close_input(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _end(self) -> None:
        """The end of its input lets it leave; one that does not within a second is killed."""
        Thread(target=self._end_process, daemon=True).start()

    def _end_process(self) -> None:
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hear(self) -> None:
        out, err = self._process.stdout, self._process.stderr
        assert out and err
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while not self.lost:
                for key, _ in selector.select(BEAT_S):
                    data = os.read(key.fd, BLOCK_BYTES)
                    if key.fileobj is err:
                        self._error_output = (self._error_output + data)[-_KEPT_BYTES:]
                        if not data:
                            selector.unregister(err)
                    elif data:
                        self._feed(data)
                    else:
                        self.lose(self._how_it_ended())
        out.close()
        err.close()

    def _how_it_ended(self) -> str:
        """The end of its output came first; its exit code and what it said of it follow."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        assert self._process.stderr
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            self._error_output += os.read(self._process.stderr.fileno(), _KEPT_BYTES)
        code = self._process.returncode
        how = f"signal {-code}" if code and code < 0 else f"code {code}"
        text = f"its process ended with {how}" if code else "the connection was closed"
        lines = self._error_output.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{text} ({last})" if last else text
