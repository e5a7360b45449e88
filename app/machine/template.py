"""Templates: processes that have imported what measures, and have forks of themselves measure.

All forks of a template have its layout of addresses, which latency depends on, so that a template
serves each case once. See `app.workers.template`.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress

from app.machine.child import Bell, Child, started
from exporters import install_layout

ANSWER_S = 60.0
"""Imports may take so long, where others keep the machine busy."""
_LONGEST = 64


class Template:
    """`served` are the ids of the cases that it has served; it imports `engine`, "" for none, as
    for so many `threads`, in this environment."""

    def __init__(self, engine: str, threads: int, environ: Mapping[str, str] = os.environ) -> None:
        self.served: set[str] = set()
        self._exit_codes: dict[int, int] = {}
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_S)
        with theirs:
            command = install_layout.command("app.workers.template", engine, str(threads))
            nothing = subprocess.DEVNULL
            process = started(command, environ, stdin=theirs, stdout=nothing, stderr=nothing)
        weakref.finalize(self, _end, self._socket, process)

    def fork(self, bell: Bell) -> Child | None:
        """A process that waits for its job, once all is imported; None where it can't be had: the
        imports started threads, or failed."""
        pipes = [os.pipe() for _ in range(3)]
        ours, theirs = [pipes[0][1], pipes[1][0], pipes[2][0]], [pipes[0][0]]
        theirs += [pipes[1][1], pipes[2][1]]
        try:
            socket.send_fds(self._socket, [b"fork"], theirs)
            return Child(_Fork(self, self._next_note("forked"), ours), bell)
        except OSError:
            for end in ours:
                os.close(end)
            return None
        finally:
            for end in theirs:
                os.close(end)

    def exit_code(self, pid: int) -> int:
        """Of a fork that is ending."""
        with suppress(OSError):
            while pid not in self._exit_codes:
                self._next_note("")
        # Without a template a fork has been killed.
        return self._exit_codes.pop(pid, -signal.SIGKILL)

    def _next_note(self, kind: str) -> int:
        """The number of the next note of this kind, "" for any; OSError where there are no more."""
        while note := self._socket.recv(_LONGEST).decode().split():
            if note[0] == "ended":
                self._exit_codes[int(note[1])] = int(note[2])
            if kind in ("", note[0]):
                return int(note[1])
        raise ConnectionError


class _Fork:
    """What `subprocess.Popen` is of a child, of a fork, whose template waits for it."""

    def __init__(self, template: Template, pid: int, ends: Sequence[int]) -> None:
        self.pid, self._template = pid, template
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._end)
        self.stdin = os.fdopen(ends[0], "wb", 0)
        self.stdout, self.stderr = (os.fdopen(end, "rb", 0) for end in ends[1:])

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = self._template.exit_code(self.pid)
        return self.returncode


def _end(notes: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Its forks end with it."""
    notes.close()
    process.kill()
    process.wait()
