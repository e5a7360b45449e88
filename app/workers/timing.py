"""Which loop times a lane: the one in C where the lane offers its run as calls, else Python's.

Both do the same around a run; the one in C has no interpreter in it, so lanes in threads of their
own do not wait for each other.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from app.cases.scenario import WaitPolicy
from app.workers.arriving import Arriving, serve_block
from app.workers.between import between_runs
from app.workers.crew import give_way
from app.workers.loop import (
    SLEEP_MARGIN_NS,
    Block,
    clock_ns,
    meeting,
    run_block,
    run_queries,
    run_requests,
    run_turns,
)
from runtimes.base import Arrays, Lane
from runtimes.calls.call import Copy
from runtimes.calls.timed import TimedCalls, built

Loop = Literal["C", "Python"]
Waits = Mapping[WaitPolicy, Callable[[int], object]]
Time = Callable[[Block, int], None]
"""Times so many runs into a block that has room for them."""
Serve = Callable[[Block, Arriving], object]
"""Serves what arrives into a block that has room for all of it."""


def loop_of(lane: Lane, streaming: bool, sets: Sequence[Arrays] = ()) -> Loop:
    """The loop that times this lane, with its states fed back or its inputs changed."""
    return "Python" if _for_c(lane, streaming, sets) is None else "C"


def timing(
    lane: Lane,
    gap_ns: int,
    wait_policy: WaitPolicy,
    waits: Waits,
    streaming: bool,
    sets: Sequence[Arrays] = (),
    polluting: Sequence[Copy] = (),
) -> Time:
    """What times the lane; `waits` are the Python loop's ways to wait out a gap.

    `polluting` are copied between two runs, before states are fed back or inputs fed.
    """
    calls = _timed_calls(lane, streaming, sets, gap_ns, wait_policy, polluting)
    if calls is not None:
        return lambda block, count: calls.time(
            block.scheduled, block.started, block.finished, count
        )
    run, wait = lane.run, waits[wait_policy]
    advance = between_runs(lane, streaming, sets, polluting)
    return lambda block, count: run_block(block, count, run, advance, gap_ns, wait)


def turn_timing(
    lanes: Sequence[Lane], gap_ns: int, wait_policy: WaitPolicy, waits: Waits
) -> Callable[[Block, np.ndarray], None]:
    """What times a run for each of some turns, int64 [n]: the numbers of the lanes to run."""
    if loop_of(lanes[0], streaming=False) == "C":
        together = [call for lane in lanes for call in lane.calls]
        calls = TimedCalls(
            together, gap_ns=gap_ns, wait=wait_policy, hybrid_margin_ns=SLEEP_MARGIN_NS
        )
        return lambda block, turns: calls.turns(
            block.scheduled, block.started, block.finished, turns, len(lanes)
        )
    runs, wait = [lane.run for lane in lanes], waits[wait_policy]
    return lambda block, turns: run_turns(block, turns.tolist(), runs, gap_ns, wait)


def query_timing(
    lane: Lane,
    number: int,
    runs: int,
    met: array[int],
    streaming: bool,
    sets: Sequence[Arrays] = (),
) -> Time:
    """What times a lane's part of queries, `runs` of each; its `number` is its place in `met`."""
    calls = _timed_calls(lane, streaming, sets)
    if calls is not None:
        return lambda block, count: calls.query(
            block.scheduled, block.started, block.finished, count, runs, met, number
        )
    run, advance = lane.run, between_runs(lane, streaming, sets)
    meet = meeting(met, number, give_way)
    return lambda block, count: run_queries(block, count, run, advance, runs, meet)


class Requests:
    """So many runs that are all due now; lanes share them, and each takes the next when free."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.following = array("q", [0])
        self.left = iter(range(count))
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
    run, advance = lane.run, between_runs(lane, streaming, sets)
    return lambda block, requests: run_requests(block, requests.left, run, advance)


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
            arriving.until,
        )
    run, advance, wait = lane.run, between_runs(lane, streaming, sets), waits[wait_policy]
    return lambda block, arriving: serve_block(block, arriving, run, advance, wait)


def _timed_calls(
    lane: Lane,
    streaming: bool,
    sets: Sequence[Arrays],
    gap_ns: int = 0,
    wait_policy: WaitPolicy = "spin",
    polluting: Sequence[Copy] = (),
) -> TimedCalls | None:
    """The lane's calls for the loop in C; None where that can't time it."""
    copies = _for_c(lane, streaming, sets)
    if copies is None:
        return None
    states, fed = copies
    between = (*polluting, *states)
    return TimedCalls(lane.calls, between, fed, gap_ns, wait_policy, SLEEP_MARGIN_NS)


def _for_c(
    lane: Lane, streaming: bool, sets: Sequence[Arrays]
) -> tuple[Sequence[Copy], Sequence[Sequence[Copy]]] | None:
    """What is copied between two runs, and in which turn; None where C can't time the lane.

    A lane that offers no calls is asked for no copies: it may have no buffers to copy from.
    """
    if not lane.calls or not built():
        return None
    states = lane.advancing() if streaming else ()
    # The first set is bound already.
    fed = [lane.feeding(one) for one in (*sets[1:], *sets[:1])]
    known = [copies for copies in fed if copies is not None]
    return None if states is None or len(known) < len(fed) else (states, known)
