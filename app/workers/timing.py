"""The choice of the timed loop, in C or Python, work between two runs, and the loop's overhead."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, repeat
from typing import Literal, Self

import numpy as np

from app.cases.scenario import WaitPolicy
from app.workers.loop import (
    SLEEP_MARGIN_NS,
    WAIT,
    Arriving,
    Block,
    clock_ns,
    give_way,
    meeting,
    run_block,
    run_queries,
    run_requests,
    serve_block,
)
from runtimes.base import Arrays, DeviceEviction, Lane
from runtimes.calls import Copy, TimedCalls, built, nothing

CHUNK_BYTES = 64 * 1024
"""One copy is no larger: a large one the C library writes around the caches."""


@dataclass(frozen=True, slots=True)
class CacheEviction:
    """What goes through the caches between two runs, and how long that takes: copies through the
    host's, or a device's own eviction."""

    copies: tuple[Copy, ...]
    pass_ns: int
    device: DeviceEviction | None = None

    @classmethod
    def of_size(cls, size: int) -> Self:
        """Copies that touch so many bytes; both halves are in memory when it is made."""
        # Zeros that were never written would all be one page of the system's.
        source = np.ones(size // 2, np.uint8)
        target = np.ones_like(source)
        starts = range(0, len(source), CHUNK_BYTES)
        copies = tuple(
            Copy(target[start : start + CHUNK_BYTES], source[start : start + CHUNK_BYTES])
            for start in starts
        )
        start_ns = time.perf_counter_ns()
        copy_all(copies)
        return cls(copies, time.perf_counter_ns() - start_ns)

    @classmethod
    def on_device(cls, device: DeviceEviction) -> Self:
        """The same of a device's cache, after a first pass, which may take longer."""
        device.clear()
        start_ns = time.perf_counter_ns()
        device.clear()
        return cls((), time.perf_counter_ns() - start_ns, device)


def copy_all(copies: Sequence[Copy]) -> None:
    """In Python what the loop in C does between runs."""
    for copy in copies:
        np.copyto(copy.target, copy.source)


def inter_run_call(
    lane: Lane, streaming: bool, sets: Sequence[Arrays], eviction: CacheEviction | None = None
) -> Callable[[], object] | None:
    """The call that prepares the next run; None where nothing is to be done.

    `sets` are inputs to feed in turn, without the states; the first is what is bound already.
    The host's caches are evicted before anything is fed, so that what is fed is as fresh as a
    program's; a device's cache is evicted last.
    """
    if not sets and eviction is None:
        return lane.advance if streaming else None
    following = cycle((*sets[1:], *sets[:1]))
    copies = eviction.copies if eviction else ()
    clear = eviction.device.clear if eviction and eviction.device else None

    def prepare() -> None:
        copy_all(copies)
        if streaming:
            lane.advance()
        if sets:
            lane.feed(next(following))
        if clear:
            clear()

    return prepare


Loop = Literal["C", "Python"]
Waits = Mapping[WaitPolicy, Callable[[int], object]]
Time = Callable[[Block, int], None]
"""Times so many runs into a block that has room for them."""
Serve = Callable[[Block, Arriving], object]
"""Serves what arrives into a block that has room for all of it."""


def loop_of(lane: Lane, streaming: bool, sets: Sequence[Arrays] = ()) -> Loop:
    """The loop that times this lane, with its states fed back or its inputs changed."""
    return "Python" if _c_copies(lane, streaming, sets) is None else "C"


def timing(
    lane: Lane,
    gap_ns: int,
    wait_policy: WaitPolicy,
    waits: Waits,
    streaming: bool,
    sets: Sequence[Arrays] = (),
    eviction: CacheEviction | None = None,
) -> Time:
    """What times the lane; `waits` are the Python loop's ways to wait out a gap."""
    calls = _timed_calls(lane, streaming, sets, gap_ns, wait_policy, eviction)
    if calls is not None:
        return lambda block, count: calls.time(
            block.scheduled, block.started, block.finished, count
        )
    run, wait = lane.run, waits[wait_policy]
    advance = inter_run_call(lane, streaming, sets, eviction)
    return lambda block, count: run_block(block, repeat(run, count), advance, gap_ns, wait)


def turn_timing(
    lanes: Sequence[Lane], gap_ns: int, wait_policy: WaitPolicy, waits: Waits
) -> Callable[[Block, np.ndarray], None]:
    """What times a run for each of some turns, int64 [n]: the numbers of the lanes to run."""
    if loop_of(lanes[0], streaming=False) == "C":
        lane_calls = [call for lane in lanes for call in lane.calls]
        calls = TimedCalls(
            lane_calls, gap_ns=gap_ns, wait=wait_policy, hybrid_margin_ns=SLEEP_MARGIN_NS
        )
        return lambda block, turns: calls.turns(
            block.scheduled, block.started, block.finished, turns, len(lanes)
        )
    runs, wait = [lane.run for lane in lanes], waits[wait_policy]
    return lambda block, turns: run_block(
        block, map(runs.__getitem__, turns.tolist()), None, gap_ns, wait
    )


def query_timing(
    lane: Lane,
    number: int,
    runs: int,
    positions: array[int],
    streaming: bool,
    sets: Sequence[Arrays] = (),
) -> Time:
    """What times a lane's part of queries, `runs` of each; `number` is its place in `positions`."""
    calls = _timed_calls(lane, streaming, sets)
    if calls is not None:
        return lambda block, count: calls.query(
            block.scheduled, block.started, block.finished, count, runs, positions, number
        )
    run, advance = lane.run, inter_run_call(lane, streaming, sets)
    meet = meeting(positions, number, give_way)
    return lambda block, count: run_queries(block, count, run, advance, runs, meet)


class Requests:
    """So many runs that are all due now; lanes share them, and each takes the next when free."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.following = array("q", [0])
        self.remaining = iter(range(count))
        self.due_ns = clock_ns()


def request_timing(
    lane: Lane, streaming: bool, sets: Sequence[Arrays] = ()
) -> Callable[[Block, Requests], int]:
    """What times the runs that a lane takes, and tells how many; a full block takes no more."""
    calls = _timed_calls(lane, streaming, sets)
    if calls is not None:
        return lambda block, requests: calls.take(
            block.scheduled, block.started, block.finished, requests.count, requests.following
        )
    run, advance = lane.run, inter_run_call(lane, streaming, sets)
    return lambda block, requests: run_requests(block, requests.remaining, run, advance)


def serving(
    lane: Lane,
    wait_policy: WaitPolicy,
    waits: Waits,
    streaming: bool,
    sets: Sequence[Arrays] = (),
) -> Serve:
    """What serves the requests of an open loop on the lane, in the loop that times it."""
    calls = _timed_calls(lane, streaming, sets, wait_policy=wait_policy)
    if calls is not None:
        return lambda block, arriving: calls.serve(
            block.scheduled,
            block.started,
            block.finished,
            arriving.times_ns,
            arriving.following,
            arriving.end_ns,
        )
    run, advance, wait = lane.run, inter_run_call(lane, streaming, sets), waits[wait_policy]
    return lambda block, arriving: serve_block(block, arriving, run, advance, wait)


def _timed_calls(
    lane: Lane,
    streaming: bool,
    sets: Sequence[Arrays],
    gap_ns: int = 0,
    wait_policy: WaitPolicy = "spin",
    eviction: CacheEviction | None = None,
) -> TimedCalls | None:
    """The lane's calls for the loop in C; None where that can't time it."""
    copies = _c_copies(lane, streaming, sets)
    if copies is None:
        return None
    states, feeds = copies
    inter_run_copies = (*(eviction.copies if eviction else ()), *states)
    device_calls = eviction.device.calls if eviction and eviction.device else ()
    return TimedCalls(
        lane.calls, inter_run_copies, feeds, gap_ns, wait_policy, SLEEP_MARGIN_NS, device_calls
    )


def _c_copies(
    lane: Lane, streaming: bool, sets: Sequence[Arrays]
) -> tuple[Sequence[Copy], Sequence[Sequence[Copy]]] | None:
    """What is copied between two runs, and in which turn; None where C can't time the lane.

    A lane that offers no calls is asked for no copies: it may have no buffers to copy from.
    """
    if not lane.calls or not built():
        return None
    states = lane.advancing() if streaming else ()
    # The first set is bound already.
    feeds = [lane.feeding(arrays) for arrays in (*sets[1:], *sets[:1])]
    feasible = [copies for copies in feeds if copies is not None]
    return None if states is None or len(feasible) < len(feeds) else (states, feasible)


_ITERATIONS = 4000


def harness_overhead_ns(loop: Loop) -> float:
    """The median of 4,000 timed empty calls, which Python enters as engines: through a partial."""
    block = Block(_ITERATIONS)
    for _ in range(2):
        if loop == "C":
            calls = TimedCalls((nothing(),))
            calls.time(block.scheduled, block.started, block.finished, _ITERATIONS)
        else:
            run_block(block, repeat(partial(int), _ITERATIONS), None, 0, WAIT["spin"])
    records = block.records(_ITERATIONS, 0)
    return float(np.median(records["finished_ns"] - records["started_ns"]))
