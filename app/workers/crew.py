"""The threads of several lanes: each does its part of a block, all of them at the same time.

They live as long as the crew is entered. One lane has no thread of its own: the caller's runs it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from runtimes.base import Lane

SWITCH_S = 5e-5
"""How long a thread that wants the interpreter waits before it asks the one that has it."""

give_way = ctypes.CDLL(None).sched_yield
"""Lets other threads run, and lets go of the interpreter, which os.sched_yield would keep."""


def enter(lane: Lane, alone: threading.Lock) -> None:
    """Have the calling thread run the lane from now on; `alone` is held by one thread at a time.

    An engine that records a thread's first run is disturbed by whatever other threads do then.
    """
    lane.enter()
    if lane.first_run_alone:
        with alone:
            lane.run()


class Crew:
    """Who runs the lanes of a session; entering raises what `enter` raises of one."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        several = lanes if len(lanes) > 1 else ()
        self._gate = threading.Barrier(len(several) + 1)
        self._threads = [
            threading.Thread(target=self._serve, args=(number, lane), daemon=True)
            for number, lane in enumerate(several)
        ]
        self._part: Callable[[int], object] = int
        self._failures: list[Exception] = []
        self._alone = threading.Lock()
        self._switch_s = sys.getswitchinterval()

    def __enter__(self) -> Self:
        if self._threads:
            sys.setswitchinterval(SWITCH_S)
        try:
            for thread in self._threads:
                thread.start()
            self._gate.wait()
            self._raise_failure()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.abort()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        sys.setswitchinterval(self._switch_s)

    def together(self, part: Callable[[int], object]) -> None:
        """Call `part` for each lane with its number, and wait for all; raises what one raises."""
        if not self._threads:
            part(0)
            return
        self._part = part
        self._gate.wait()
        self._gate.wait()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failures:
            raise self._failures[0]

    def _serve(self, number: int, lane: Lane) -> None:
        """What a lane's thread does until the gate is broken."""
        self._noting(lambda: enter(lane, self._alone))
        with suppress(threading.BrokenBarrierError):
            self._gate.wait()
            while True:
                self._gate.wait()
                self._noting(lambda: self._part(number))
                self._gate.wait()

    def _noting(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:
            self._failures.append(error)
