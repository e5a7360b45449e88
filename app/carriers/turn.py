"""One job at a time on a machine, also where agents of several sweeps are on it.

Each sweep that comes by ssh starts an agent of its own, and none knows of the others; they wait for
each other's end by a lock, in the order in which they came as far as the system keeps one.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread


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

    def __init__(self, descriptor: int, woken: Event) -> None:
        self._descriptor, self._woken = descriptor, woken
        self._lock = Lock()
        self._has_it = self._thread_has_file = self._over = False

    def wait(self) -> bool:
        """Whether it is ours; False once `woken` was set by somebody else."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._has_it = True
        except BlockingIOError:
            self._thread_has_file = True
            Thread(target=self._wait, daemon=True).start()
            self._woken.wait()
        except OSError:
            self._has_it = True
        with self._lock:
            return self._has_it

    def close(self) -> None:
        """Let go of it, now or as soon as the thread has it."""
        with self._lock:
            self._over = True
            if not self._thread_has_file:
                os.close(self._descriptor)

    def _wait(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        finally:
            with self._lock:
                self._has_it, self._thread_has_file = True, False
                if self._over:
                    os.close(self._descriptor)
            self._woken.set()
