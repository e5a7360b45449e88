"""What a plan must know of users' .onnx files, asked of a child process.

A file that hangs, kills or fills whoever reads it ends the child: that file is then unreadable,
and the next is asked of another.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import psutil

from app.machine.bell import Bell
from app.machine.child import Child
from exporters import own
from exporters.codec import from_json, to_json
from exporters.files.outline_request import Outline, OutlineReply, OutlineRequest
from exporters.types import ExportError

COMMAND = own.command("exporters.files.outline_worker")
MEMORY_LIMIT_BYTES = 6 * 2**30
"""A graph of 2 GiB that is cut is held three times."""
LOOK_EVERY_S = 0.05

_FileState = tuple[int, int]
_known: dict[tuple[OutlineRequest, _FileState | None], OutlineReply] = {}
"""A window plans anew with every key that is typed: a file is read again once it has changed."""


class Outlines:
    """A context manager; its child, `command`, is started with the first file asked for."""

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        time_limit_s: float = 20.0,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    ) -> None:
        self._command, self._time_limit_s = command, time_limit_s
        self._memory_limit_bytes = memory_limit_bytes
        self._bell = Bell()
        self._child: Child | None = None

    def of(self, request: OutlineRequest) -> Outline:
        """ExportError for what is wrong with the file, as its export would say it."""
        file = _state_of(request.path)
        reply = _known.get((request, file)) or self._asked(request)
        # What was missing beside a file may be there at the next look, and the file the same.
        if file is not None and not (request.closely and reply.outline is None):
            _known[request, file] = reply
        if reply.outline is None:
            raise ExportError(reply.cause, reply.remedy)
        return reply.outline

    def close(self) -> None:
        self._end_child()
        self._bell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asked(self, request: OutlineRequest) -> OutlineReply:
        if self._child is None:
            self._child = Child(self._command, self._bell)
        child, deadline = self._child, time.monotonic() + self._time_limit_s
        child.send(json.dumps(to_json(request)))
        while True:
            ended = child.ended()
            for line in child.lines():
                with contextlib.suppress(ValueError, RecursionError):
                    return from_json(OutlineReply, json.loads(line))
            why = self._why_over(child, ended, deadline)
            if why:
                self._end_child()
                return OutlineReply(None, f"{request.path} could not be read: {why}")
            self._bell.wait(LOOK_EVERY_S)

    def _why_over(self, child: Child, ended: bool, deadline: float) -> str:
        """Why no reply is waited for any longer; empty while one is."""
        if ended:
            return f"the process that reads it ended with {child.how_it_ended()}"
        if time.monotonic() >= deadline:
            return f"it took longer than {self._time_limit_s:g} s"
        with contextlib.suppress(psutil.Error):
            if psutil.Process(child.pid).memory_info().rss > self._memory_limit_bytes:
                return f"it took more than {self._memory_limit_bytes >> 20:,} MiB of memory"
        return ""

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def _state_of(path: str) -> _FileState | None:
    try:
        told = Path(path).stat()
    except (OSError, ValueError):
        return None
    return told.st_mtime_ns, told.st_size
