"""The timed loop in Python, requests of an open loop, and the threads of several lanes."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Self

import numpy as np

from app.cases.round import RECORD
from app.cases.scenario import WaitPolicy
from runtimes.base import Lane
from runtimes.calls import GIVEN_UP, Times

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
        room = _untouched_times if as_written and capacity else _touched_times
        self.scheduled, self.started, self.finished = (room(capacity) for _ in range(3))

    def records(self, end: int, phase: int, first: int = 0) -> np.ndarray:
        """The iterations from `first` to before `end` as `RECORD` records [end - first]."""
        records = np.zeros(end - first, dtype=RECORD)
        records["scheduled_ns"] = self.scheduled[first:end]
        records["started_ns"] = self.started[first:end]
        records["finished_ns"] = self.finished[first:end]
        records["phase"] = phase
        return records


def sets_fed(first: int, count: int, sets: int) -> np.ndarray:
    """Which of so many sets a lane was fed in `count` runs from its run `first` on, int64 [count].
    A run after inputs were bound anew has the first, whichever turn it is, and does not count."""
    turns: np.ndarray = (first + np.arange(count)) % max(sets, 1)
    return turns


def _touched_times(capacity: int) -> Times:
    return array("q", bytes(8 * capacity))


def _untouched_times(capacity: int) -> Times:
    return memoryview(mmap.mmap(-1, 8 * capacity)).cast("q")


def run_block(
    block: Block,
    runs: Iterable[Callable[[], object]],
    advance: Callable[[], object] | None,
    gap_ns: int,
    wait: Callable[[int], object],
) -> None:
    """Time each of `runs` into `block`; each starts `gap_ns` after the last one finished."""
    scheduled_ns, starts_ns, ends_ns = block.scheduled, block.started, block.finished
    clock = clock_ns
    due_ns = clock() + gap_ns
    for i, run in enumerate(runs):
        if gap_ns:
            wait(due_ns)
        begin = clock()
        run()
        end = clock()
        scheduled_ns[i] = due_ns if gap_ns else begin
        starts_ns[i] = begin
        ends_ns[i] = end
        due_ns = end + gap_ns
        if advance is not None:
            advance()


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
    starts_ns, ends_ns, clock = block.started, block.finished, clock_ns
    for i in range(count):
        if not meet(i):
            return
        remaining = runs
        begin = clock()
        run()
        while remaining := remaining - 1:
            if advance is not None:
                advance()
            run()
        end = clock()
        block.scheduled[i] = starts_ns[i] = begin
        ends_ns[i] = end
        if advance is not None:
            advance()


def meeting(
    positions: array[int], lane: int, give_way: Callable[[], object]
) -> Callable[[int], bool]:
    """How a lane meets the others at a query; False where one has given up.

    `met[lane]` is the query that a lane has come to, counted from 1.
    """

    def meet(query: int) -> bool:
        positions[lane] = query + 1
        while min(positions) <= query:
            give_way()
        return max(positions) < GIVEN_UP

    return meet


def run_requests(
    block: Block,
    requests: Iterator[object],
    run: Callable[[], object],
    advance: Callable[[], object] | None,
) -> int:
    """Time as many of the requests as come to this lane and have room; returns how many."""
    starts_ns, ends_ns, clock = block.started, block.finished, clock_ns
    served_count = 0
    # A request is taken only where there is room for it: zip asks the range first.
    for i, _ in zip(range(block.capacity), requests, strict=False):
        begin = clock()
        run()
        end = clock()
        starts_ns[i] = begin
        ends_ns[i] = end
        served_count = i + 1
        if advance is not None:
            advance()
    return served_count


def _spin(until_ns: int) -> None:
    while clock_ns() < until_ns:
        pass


def _sleep(until_ns: int) -> None:
    remaining_ns = until_ns - clock_ns()
    if remaining_ns > 0:
        time.sleep(remaining_ns * 1e-9)


def _hybrid(until_ns: int) -> None:
    _sleep(until_ns - SLEEP_MARGIN_NS)
    _spin(until_ns)


WAIT: dict[WaitPolicy, Callable[[int], object]] = {
    "spin": _spin,
    "sleep": _sleep,
    "hybrid": _hybrid,
}


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
        self.following, self.end_ns = array("q", [0]), array("q", [0])

    def begin(self, begin_ns: int, until_ns: int) -> None:
        """They come from `begin_ns` on, on the clock of the lanes."""
        np.add(self._offsets_ns, begin_ns, out=self.times_ns)
        self.end_ns[0] = until_ns

    def end(self) -> None:
        """None is begun any more; lanes that wait hear it within `PATIENCE_NS`."""
        self.end_ns[0] = clock_ns()

    def wait_for_next(self, wait: Callable[[int], object]) -> int | None:
        """When the next one was due, once that time has come; None when there is none any more."""
        with self._turn:
            number = self.following[0]
            self.following[0] = number + 1
        if number >= len(self.times_ns):
            return None
        due_ns = int(self.times_ns[number])
        while True:
            now_ns, end_ns = clock_ns(), self.end_ns[0]
            if due_ns >= end_ns or now_ns >= end_ns:
                return None
            if due_ns - now_ns <= PATIENCE_NS:
                wait(due_ns)
                return due_ns
            wait(now_ns + PATIENCE_NS)


def serve_block(
    block: Block,
    arriving: Arriving,
    run: Callable[[], object],
    advance: Callable[[], object] | None,
    wait: Callable[[int], object],
) -> None:
    """Serve requests into `block` until there are none; `finished` is written last of a run."""
    scheduled_ns, starts_ns, ends_ns = block.scheduled, block.started, block.finished
    clock, count = clock_ns, 0
    while (due_ns := arriving.wait_for_next(wait)) is not None:
        begin = clock()
        run()
        end = clock()
        scheduled_ns[count] = due_ns
        starts_ns[count] = begin
        ends_ns[count] = end
        count += 1
        if advance is not None:
            advance()


SWITCH_S = 5e-5
"""How long a thread that wants the interpreter waits before it asks the one that has it."""

give_way = ctypes.CDLL(None).sched_yield
"""Lets other threads run, and lets go of the interpreter, which os.sched_yield would keep."""


def enter(lane: Lane, lock: threading.Lock) -> None:
    """Have the calling thread run the lane from now on; `lock` is held by one thread at a time.

    An engine that records a thread's first run is disturbed by whatever other threads do then.
    """
    lane.enter()
    if lane.first_run_alone:
        with lock:
            lane.run()


class LaneThreads:
    """Who runs the lanes of a session; entering raises what `enter` raises of one. The threads live
    as long as this is entered."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        several = lanes if len(lanes) > 1 else ()
        self._gate = threading.Barrier(len(several) + 1)
        self._threads = [
            threading.Thread(target=self._serve, args=(number, lane), daemon=True)
            for number, lane in enumerate(several)
        ]
        self._part: Callable[[int], object] = int
        self._failures: list[Exception] = []
        self._first_run_lock = threading.Lock()
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

    def run_all(self, part: Callable[[int], object]) -> None:
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
        self._noting(lambda: enter(lane, self._first_run_lock))
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
