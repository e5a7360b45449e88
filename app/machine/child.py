"""Child processes in sessions of their own: started, read line by line, waited for, ended.

Also how a parent asks the batch mode to read commands from standard input.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol

from app.machine.system import text_of
from exporters import install_layout

STEERED = "GRAPHLAP_STEERED"
"""The environment variable by which a parent says that it writes to our standard input."""


def take_steered() -> bool:
    """Whether our parent steers this process; no process started later inherits the variable."""
    return os.environ.pop(STEERED, "") == "1"


_ONCE = "once"


class Bell:
    """One waiter; `watch`, `forget` and `wait` belong to its thread, `ring` to any."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._read_end, self._rung = os.pipe()
        self._closing, self._is_closed = Lock(), False
        for end in (self._read_end, self._rung):
            os.set_blocking(end, False)
        self._selector.register(self._read_end, selectors.EVENT_READ)

    def watch(self, descriptor: int) -> None:
        """Wake when this pipe can be read or has ended."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_end(self, pid: int) -> int | None:
        """Wake once when this child process ends; returns the descriptor to `forget` and close,
        None where the system has none: outside Linux, or with no descriptor left."""
        if not hasattr(os, "pidfd_open"):
            return None
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None
        self._selector.register(descriptor, selectors.EVENT_READ, data=_ONCE)
        return descriptor

    def forget(self, descriptor: int) -> None:
        """Never mind this pipe any more; nothing if it is not watched."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def ring(self) -> None:
        """Wake the waiter now, or at its next waiting; nothing once it is closed."""
        # After that the descriptor may be that of a file of somebody else.
        with self._closing, suppress(BlockingIOError):  # it has been rung often enough
            if not self._is_closed:
                os.write(self._rung, b"!")

    def wait(self, seconds: float) -> None:
        """Return when there is something to hear, at the latest after so long."""
        for key, _ in self._selector.select(max(seconds, 0.0)):
            if key.fd == self._read_end:
                os.read(self._read_end, 4096)
            elif key.data == _ONCE:  # readable for as long as nobody has reaped the process
                self._selector.unregister(key.fd)

    def close(self) -> None:
        with self._closing:
            self._is_closed = True
            self._selector.close()
            os.close(self._read_end)
            os.close(self._rung)


_STDERR_KEPT_BYTES = 16 * 1024
_READ_AT_ONCE_BYTES = 4 * 2**20
"""A child that writes without an end keeps nobody from hearing anything else. A pipe holds a
quarter of it at most, so that what one has said before it ended is always read."""
_LONGEST_LINE_BYTES = 128 * 2**20
"""What is longer is none of ours: the largest graphs' answers are a tenth of it."""
_SENT_SIGNALS = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Pipes:
    """`target` takes lines, `sources` bring them, which `bell` watches. None is set not to block:
    an end may be the same for both ways, as sshd has it."""

    def __init__(self, target: IO[bytes], *sources: IO[bytes], bell: Bell | None) -> None:
        self._target, self._sources, self._bell = target, sources, bell
        self._open = list(sources)
        for source in sources:
            if bell is not None:
                bell.watch(source.fileno())
        self._partial = b""

    def send(self, line: str) -> None:
        """Write one line; a reader that is gone is noticed when its end is."""
        left = memoryview(line.encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):
            while left:  # a signal may end a write before all is written
                left = left[self._target.write(left) :]

    def lines(self) -> list[str]:
        """The whole lines that have arrived since the last call; a torn one is kept back."""
        *whole, self._partial = (self._partial + self._drain(self._sources[0])).split(b"\n")
        if len(self._partial) > _LONGEST_LINE_BYTES:
            self._partial = b""
        return [line.decode("utf-8", "replace") for line in whole if line.strip()]

    def ended(self) -> bool:
        """Whether nothing more can come."""
        return self._sources[0] not in self._open

    def how_it_ended(self) -> str:
        return "no more messages"

    def close(self) -> None:
        """Watch them no more; they close with this process, since a write may wait in one."""
        for source in list(self._open):
            self._forget(source)

    def _forget(self, source: IO[bytes]) -> None:
        """One at its end, or closed, is not waited on again, and whoever waits hears of it."""
        self._open.remove(source)
        if self._bell is not None:
            self._bell.forget(source.fileno())
            self._bell.ring()

    def _drain(self, source: IO[bytes]) -> bytes:
        """What can be read without waiting, as far as it is not endless."""
        chunks, left = [], _READ_AT_ONCE_BYTES
        ready = select.poll()
        ready.register(source, select.POLLIN)
        while source in self._open and left > 0 and ready.poll(0):
            chunk = os.read(source.fileno(), 1 << 16)
            if not chunk:
                self._forget(source)
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)


class Process(Protocol):
    """What a child needs of `subprocess.Popen`."""

    stdin: Any
    stdout: Any
    stderr: Any
    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def wait(self) -> int: ...


class Child(Pipes):
    """`process`, or that of a command, with its three pipes; `bell` watches those that it writes
    to, and its end.

    `environ` is the environment of a command, by default that of this process.
    """

    def __init__(
        self,
        process: Sequence[str] | Process,
        bell: Bell | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._memory_kills = memory_kills()
        if isinstance(process, Sequence):
            pipe = subprocess.PIPE
            process = started(process, environ, stdin=pipe, stdout=pipe, stderr=pipe)
        self._process = process
        assert process.stdin and process.stdout and process.stderr
        super().__init__(process.stdin, process.stdout, process.stderr, bell=bell)
        self._end = bell.watch_end(self.pid) if bell is not None else None
        self._errors = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def lines(self) -> list[str]:
        self._errors = (self._errors + self._drain(self._sources[1]))[-_STDERR_KEPT_BYTES:]
        return super().lines()

    def ended(self) -> bool:
        """Whether the process is gone; what it wrote last may still be waiting in `lines`."""
        return self._process.poll() is not None

    def how_it_ended(self) -> str:
        """`exit code 3` or `signal SIGSEGV`, with the last line it wrote to standard error."""
        code = self._process.returncode
        text = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        error_lines = [
            line.strip() for line in self._errors.decode("utf-8", "replace").splitlines()
        ]
        last = next((line for line in reversed(error_lines) if line), "")
        return f"{text}: {last}" if last else text

    def exit_code(self) -> int:
        code: int = self._process.returncode
        return code

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed it for want of memory, as far as its own count tells."""
        is_killed = self._process.returncode == -signal.SIGKILL
        return is_killed and memory_kills() > self._memory_kills

    def was_killed(self) -> bool:
        """Whether it was ended by a signal that is sent, not one that its own fault raises."""
        return -(self._process.returncode or 0) in _SENT_SIGNALS

    def terminate(self) -> None:
        """Ask the whole group to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group now."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill what is left, reap it and close the pipes; idempotent."""
        self.kill()
        self._process.wait()
        super().close()
        if self._end is not None and self._bell is not None:
            self._bell.forget(self._end)
            os.close(self._end)
            self._end = None
        for pipe in (self._target, *self._sources):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        # The group's number stays ours until the leader is reaped, and may outlive it while
        # a descendant is left; one that is wholly gone raises ProcessLookupError.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def started(
    command: Sequence[str], environ: Mapping[str, str] = os.environ, **streams: Any
) -> subprocess.Popen[bytes]:
    """A process of ours in a session of its own, which ends with this one."""
    parent = {install_layout.PARENT: str(os.getpid())}
    environ = {**install_layout.child_environment(environ), **parent}
    return subprocess.Popen(command, bufsize=0, start_new_session=True, env=environ, **streams)


class Unstarted:
    """In the place of a child whose program could not be started: one that has ended, and why."""

    pid: int | None = None

    def __init__(self, error: OSError) -> None:
        self._error = error

    def send(self, line: str) -> None:
        """Nobody hears it."""

    def lines(self) -> list[str]:
        return []

    def ended(self) -> bool:
        return True

    def how_it_ended(self) -> str:
        if self._error.errno in (errno.EMFILE, errno.ENFILE):
            return f"no start ({self._error.strerror}; ulimit -n sets how many a process may have)"
        return f"no start ({self._error.filename}: {self._error.strerror})"

    def exit_code(self) -> int:
        return 1

    def ran_out_of_memory(self) -> bool:
        return self._error.errno == errno.ENOMEM

    def was_killed(self) -> bool:
        return False

    def terminate(self) -> None:
        """There is nothing to end."""

    def kill(self) -> None:
        """There is nothing to end."""

    def close(self) -> None:
        """There is nothing to end."""


Worker = Child | Unstarted


def memory_kills(counters: Path = Path("/proc/vmstat")) -> int:
    """How many processes Linux has killed for want of memory; 0 where it does not tell."""
    counts = dict(line.split() for line in (text_of(counters) or "").splitlines())
    return int(counts.get("oom_kill", 0))
