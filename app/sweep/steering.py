"""Signals and lines of a pipe that steer a running sweep."""

from __future__ import annotations

import os
import select
import signal
import threading

from app.sweep.run import SweepRun


class Steering:
    """Signals and lines of `stdin`, turned into the sweep's method calls; None reads no lines.

    The first stop, however it comes, ends after the block in flight, the second at once.
    """

    def __init__(self, run: SweepRun, stdin: int | None = None) -> None:
        self._run = run
        self._signals = self._stop_lines = self._stops_heeded = 0
        self._stdin = stdin
        self._partial = b""
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Steering:
        if threading.current_thread() is not threading.main_thread():
            return self  # signals are the main thread's
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
            numbers.append(signal.SIGHUP)
        for number in numbers:
            self._previous[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """From now on signals do what they did before; idempotent."""
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, handler)  # type: ignore[arg-type]

    def heed(self) -> None:
        """Do what was asked since the last call."""
        for line in self._lines():
            if line == "pause":
                self._run.pause()
            elif line == "resume":
                self._run.resume()
            elif line == "stop":
                self._stop_lines += 1
        stops = self._signals + self._stop_lines
        if stops > self._stops_heeded:
            self._stops_heeded = stops
            self._run.stop(now=stops > 1)

    def _handle_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1

    def _lines(self) -> list[str]:
        if self._stdin is None or not select.select([self._stdin], [], [], 0)[0]:
            return []
        data = os.read(self._stdin, 4096)
        if not data:
            self._stdin = None
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [line.decode("utf-8", "replace").strip() for line in lines]
