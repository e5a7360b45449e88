"""Which loop times a lane: the one in C where the lane offers its run as calls, else Python's.

Both do the same around a run; the one in C has no interpreter in it, so lanes in threads of their
own do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from app.cases.scenario import WaitPolicy
from app.workers.arriving import Arriving, serve_block
from app.workers.between import between_runs
from app.workers.loop import SLEEP_MARGIN_NS, Block, run_block
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
) -> Time:
    """What times the lane; `waits` are the Python loop's ways to wait out a gap."""
    copies = _for_c(lane, streaming, sets)
    if copies is not None:
        states, fed = copies
        calls = TimedCalls(lane.calls, states, fed, gap_ns, wait_policy, SLEEP_MARGIN_NS)
        return lambda block, count: calls.time(
            block.scheduled, block.started, block.finished, count
        )
    run, advance, wait = lane.run, between_runs(lane, streaming, sets), waits[wait_policy]
    return lambda block, count: run_block(block, count, run, advance, gap_ns, wait)


def serving(
    lane: Lane,
    wait_policy: WaitPolicy,
    waits: Waits,
    streaming: bool,
    sets: Sequence[Arrays] = (),
) -> Serve:
    """What serves the requests of an open loop on the lane, in the loop that times it."""
    copies = _for_c(lane, streaming, sets)
    if copies is not None:
        calls = TimedCalls(lane.calls, *copies, 0, wait_policy, SLEEP_MARGIN_NS)
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
