"""The timed loop: two clock reads around one call, integers stored after the second.

Everything that is not `run()` happens outside the two reads: storing, feeding the state
back, waiting for the next scheduled start or for other lanes. One function serves single runs,
because its branches cost nothing that is measured, one runs of several shapes, one the queries of
several runs, and one what is asked for all at once.
"""

from __future__ import annotations

import mmap
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from app.cases.round import RECORD
from app.cases.scenario import WaitPolicy
from runtimes.calls.timed import GIVEN_UP, Times

clock_ns = time.perf_counter_ns

SLEEP_MARGIN_NS = 300_000
"""A sleeping thread wakes some 80 us late, so `hybrid` spins for the last 300 us."""


class Block:
    """Preallocated room for one block of iterations, reused from block to block.

    With `as_written` it takes memory only as far as it is filled: for room that is mostly left
    empty.
    """

    def __init__(self, capacity: int, as_written: bool = False) -> None:
        self.capacity = capacity
        room = _untouched if as_written and capacity else _touched
        self.scheduled, self.started, self.finished = (room(capacity) for _ in range(3))

    def records(self, end: int, phase: int, first: int = 0) -> np.ndarray:
        """The iterations from `first` to before `end` as `RECORD` records [end - first]."""
        records = np.zeros(end - first, dtype=RECORD)
        records["scheduled_ns"] = self.scheduled[first:end]
        records["started_ns"] = self.started[first:end]
        records["finished_ns"] = self.finished[first:end]
        records["phase"] = phase
        return records


def _touched(capacity: int) -> Times:
    return array("q", bytes(8 * capacity))


def _untouched(capacity: int) -> Times:
    return memoryview(mmap.mmap(-1, 8 * capacity)).cast("q")


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


def run_turns(
    block: Block,
    turns: Iterable[int],
    runs: Sequence[Callable[[], object]],
    gap_ns: int,
    wait: Callable[[int], object],
) -> None:
    """Time into `block` a run for each of `turns`, of whose turn it is among `runs`."""
    scheduled, started, finished = block.scheduled, block.started, block.finished
    clock = clock_ns
    due = clock() + gap_ns
    for i, turn in enumerate(turns):
        run = runs[turn]
        if gap_ns:
            wait(due)
        begin = clock()
        run()
        end = clock()
        scheduled[i] = due if gap_ns else begin
        started[i] = begin
        finished[i] = end
        due = end + gap_ns


def run_queries(
    block: Block,
    count: int,
    run: Callable[[], object],
    advance: Callable[[], object] | None,
    runs: int,
    meet: Callable[[int], bool],
) -> None:
    """Time a lane's part of `count` queries: `runs` of each, one after another.

    A query begins when all lanes `meet` at its number; where one has given up, the block ends.
    """
    started, finished, clock = block.started, block.finished, clock_ns
    for i in range(count):
        if not meet(i):
            return
        left = runs
        begin = clock()
        run()
        while left := left - 1:
            if advance is not None:
                advance()
            run()
        end = clock()
        block.scheduled[i] = started[i] = begin
        finished[i] = end
        if advance is not None:
            advance()


def meeting(met: array[int], lane: int, give_way: Callable[[], object]) -> Callable[[int], bool]:
    """How a lane meets the others at a query; False where one has given up.

    `met[lane]` is the query that a lane has come to, counted from 1.
    """

    def meet(query: int) -> bool:
        met[lane] = query + 1
        while min(met) <= query:
            give_way()
        return max(met) < GIVEN_UP

    return meet


def run_requests(
    block: Block,
    requests: Iterator[object],
    run: Callable[[], object],
    advance: Callable[[], object] | None,
) -> int:
    """Time as many of the requests as come to this lane and have room; returns how many."""
    started, finished, clock = block.started, block.finished, clock_ns
    done = 0
    # A request is taken only where there is room for it: zip asks the range first.
    for i, _ in zip(range(block.capacity), requests, strict=False):
        begin = clock()
        run()
        end = clock()
        started[i] = begin
        finished[i] = end
        done = i + 1
        if advance is not None:
            advance()
    return done


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
