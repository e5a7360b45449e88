"""The timed loop: two clock reads around one call, integers stored after the second.

Everything that is not `run()` happens outside the two reads: storing, feeding the state
back, waiting for the next scheduled start. One function serves every scenario, because its
branches cost nothing that is measured.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import numpy as np

from app.cases.round import RECORD
from app.cases.scenario import WaitPolicy

clock_ns = time.perf_counter_ns

SLEEP_MARGIN_NS = 300_000
"""A sleeping thread wakes some 80 us late, so `hybrid` spins for the last 300 us."""


class Block:
    """Preallocated room for one block of iterations, reused from block to block."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.scheduled = array("q", bytes(8 * capacity))
        self.started = array("q", bytes(8 * capacity))
        self.finished = array("q", bytes(8 * capacity))

    def records(self, end: int, phase: int, first: int = 0) -> np.ndarray:
        """The iterations from `first` to before `end` as `RECORD` records [end - first]."""
        records = np.zeros(end - first, dtype=RECORD)
        records["scheduled_ns"] = self.scheduled[first:end]
        records["started_ns"] = self.started[first:end]
        records["finished_ns"] = self.finished[first:end]
        records["phase"] = phase
        return records


def run_block(
    block: Block,
    count: int,
    run: Callable[[], object],
    advance: Callable[[], object] | None,
    gap_ns: int,
    wait: Callable[[int], object],
) -> None:
    """Time `count` runs into `block`; each starts `gap_ns` after the last one finished."""
    scheduled, started, finished = block.scheduled, block.started, block.finished
    clock = clock_ns
    due = clock() + gap_ns
    for i in range(count):
        if gap_ns:
            wait(due)
        begin = clock()
        run()
        end = clock()
        scheduled[i] = due if gap_ns else begin
        started[i] = begin
        finished[i] = end
        due = end + gap_ns
        if advance is not None:
            advance()


def _spin(until_ns: int) -> None:
    while clock_ns() < until_ns:
        pass


def _sleep(until_ns: int) -> None:
    left = until_ns - clock_ns()
    if left > 0:
        time.sleep(left * 1e-9)


def _hybrid(until_ns: int) -> None:
    _sleep(until_ns - SLEEP_MARGIN_NS)
    _spin(until_ns)


WAIT: dict[WaitPolicy, Callable[[int], object]] = {
    "spin": _spin,
    "sleep": _sleep,
    "hybrid": _hybrid,
}
