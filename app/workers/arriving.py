"""Requests of an open loop on their way: shared by all lanes, each served by the next free one.

The loop in C (`TimedCalls.serve`) takes them from the same arrays as Python's here does.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable

import numpy as np

from app.workers.loop import Block, clock_ns

PATIENCE_NS = 100_000_000
"""So long at most until a lane that waits for a request hears that the round has ended."""


class Arriving:
    """Requests at `offsets_ns` [n], ascending, from a beginning that is told when all is ready.

    `following[0]` is the number of the next one, `until[0]` when none is begun any more.
    """

    def __init__(self, offsets_ns: np.ndarray) -> None:
        self._offsets_ns = offsets_ns
        self._turn = threading.Lock()
        self.times_ns = np.empty(len(offsets_ns), np.int64)
        self.following, self.until = array("q", [0]), array("q", [0])

    def begin(self, begin_ns: int, until_ns: int) -> None:
        """They come from `begin_ns` on, on the clock of the lanes."""
        np.add(self._offsets_ns, begin_ns, out=self.times_ns)
        self.until[0] = until_ns

    def end(self) -> None:
        """None is begun any more; lanes that wait hear it within `PATIENCE_NS`."""
        self.until[0] = clock_ns()

    def wait_for_next(self, wait: Callable[[int], object]) -> int | None:
        """When the next one was due, once that time has come; None when there is none any more."""
        with self._turn:
            mine = self.following[0]
            self.following[0] = mine + 1
        if mine >= len(self.times_ns):
            return None
        due = int(self.times_ns[mine])
        while True:
            now, until = clock_ns(), self.until[0]
            if due >= until or now >= until:
                return None
            if due - now <= PATIENCE_NS:
                wait(due)
                return due
            wait(now + PATIENCE_NS)


def serve_block(
    block: Block,
    arriving: Arriving,
    run: Callable[[], object],
    advance: Callable[[], object] | None,
    wait: Callable[[int], object],
) -> None:
    """Serve requests into `block` until there are none; `finished` is written last of a run."""
    scheduled, started, finished = block.scheduled, block.started, block.finished
    clock, count = clock_ns, 0
    while (due := arriving.wait_for_next(wait)) is not None:
        begin = clock()
        run()
        end = clock()
        scheduled[count] = due
        started[count] = begin
        finished[count] = end
        count += 1
        if advance is not None:
            advance()
