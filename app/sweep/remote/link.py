"""Links to processes on hosts, which exchange lines of JSON; the content of files is in base64.

Either side beats every `BEAT_S`, apart from what it works on: a side that is silent for `SILENCE_S`
is lost. What is no JSON object, such as what a login shell prints, is passed over.
"""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Protocol

from app.machine.environment import graphlap_version
from exporters.codec import object_of
from exporters.types import GraphlapError

BEAT_S, SILENCE_S = 5.0, 60.0
BEAT: dict[str, Any] = {"beat": True}
BLOCK_BYTES = 1 << 18
"""So much of a file crosses in one message at most."""


class HostError(GraphlapError):
    """A host, or the way to it, can't be reached or must not be used."""


def data_of(values: dict[str, Any]) -> bytes:
    """What a message brings of a file; HostError for what brings nothing of one."""
    try:
        return b64decode(values["data"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise HostError("it sends a part of a file that can't be understood", "") from None


class HostProcess(Protocol):
    """The process at the other end: a child here, as `Child` has it, or one that is reached
    otherwise."""

    def send(self, line: str) -> None: ...
    def lines(self) -> list[str]: ...
    def ended(self) -> bool: ...
    def how_it_ended(self) -> str: ...
    def close(self) -> None: ...


class Link:
    """One end of it; `host` is what a run calls the other. `lost` says why it is over, empty while
    it is not."""

    def __init__(self, host: str, process: HostProcess) -> None:
        self.host, self.lost = host, ""
        self._process = process
        self._unreadable: OSError | None = None
        self._outbox: Queue[tuple[dict[str, Any], Path | None]] = Queue()
        self._heard_s = time.monotonic()
        Thread(target=self._speak, daemon=True).start()

    def send(self, values: dict[str, Any], content: Path | None = None) -> None:
        """Have a message sent in its turn; with the content of a file once for each block of it,
        the last of which is empty. Never waits."""
        self._outbox.put((values, content))

    @property
    def is_sending(self) -> bool:
        """Whether something is left to be sent."""
        return self._outbox.unfinished_tasks > 0

    def take(self) -> list[dict[str, Any]]:
        """What has arrived since the last call; notices an end, and a silence that is too long.
        HostError where the host has another Graphlap than this machine, OSError where a file that
        was to be sent can't be read any more."""
        if self.lost:
            return []
        is_over = self._process.ended()
        if lines := self._process.lines():
            self._heard_s = time.monotonic()
        elif self._unreadable:
            raise self._unreadable
        elif is_over:
            self.lose(f"its process ended with {self._process.how_it_ended()}")
        elif time.monotonic() - self._heard_s > SILENCE_S:
            self.lose(f"no message for {SILENCE_S:g} s")
        messages = [values for line in lines if (values := object_of(line)) and values != BEAT]
        for release in (values.pop("graphlap") for values in messages if "graphlap" in values):
            if release != graphlap_version():
                raise HostError(
                    f"{self.host} has Graphlap {release!s:.40} and this machine has "
                    f"{graphlap_version()}",
                    "install the same on both",
                )
        return [values for values in messages if values]

    def lose(self, why: str) -> None:
        """End it; only the first reason counts."""
        if not self.lost:
            self.lost = why
            self._outbox.put((BEAT, None))
            self._process.close()

    def _speak(self) -> None:
        """Send what is to be sent, and beats while there is nothing."""
        while not self.lost:
            try:
                values, content = self._outbox.get(timeout=BEAT_S)
            except Empty:
                self._outbox.put((BEAT, None))
                continue
            with suppress(OSError, ValueError):  # it was closed at this moment
                if content is not None:
                    self._send_content(values, content)
                else:
                    self._process.send(json.dumps(values))
            self._outbox.task_done()

    def _send_content(self, values: dict[str, Any], path: Path) -> None:
        try:
            file = path.open("rb")
        except OSError as error:
            self._unreadable = error
            return
        with file:
            data = b"?"
            while data and not self.lost:
                data = file.read(BLOCK_BYTES)
                self._process.send(json.dumps({**values, "data": b64encode(data).decode()}))
