"""Waiting for whichever comes first: a pipe that has something to say, a ring, or the time.

Who starts a child here lets its pipes be watched; who waits for something without a pipe, such
as a thread that hears another machine, rings.
"""

from __future__ import annotations

import os
import selectors
from contextlib import suppress
from threading import Lock

_ONCE = "once"


class Bell:
    """One waiter; `watch`, `forget` and `wait` belong to its thread, `ring` to any."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._heard, self._rung = os.pipe()
        self._closing, self._closed = Lock(), False
        for end in (self._heard, self._rung):
            os.set_blocking(end, False)
        self._selector.register(self._heard, selectors.EVENT_READ)

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
            if not self._closed:
                os.write(self._rung, b"!")

    def wait(self, seconds: float) -> None:
        """Return when there is something to hear, at the latest after so long."""
        for key, _ in self._selector.select(max(seconds, 0.0)):
            if key.fd == self._heard:
                os.read(self._heard, 4096)
            elif key.data == _ONCE:  # readable for as long as nobody has reaped the process
                self._selector.unregister(key.fd)

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._selector.close()
            os.close(self._heard)
            os.close(self._rung)
