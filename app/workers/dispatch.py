"""A batcher's dispatcher: requests that arrive on time in, batches out, one after another.

Pure but for the clock that it is given, so that the same loop runs on a virtual one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.cases.batcher import Batcher
from app.workers.arriving import PATIENCE_NS
from app.workers.loop import Block


@dataclass(frozen=True, slots=True)
class Compiled:
    """The graph at one batch: `enter` makes the thread able to `run` it."""

    enter: Callable[[], object]
    run: Callable[[], object]


def dispatch(
    block: Block,
    arrivals: Sequence[int],
    until: Sequence[int],
    batcher: Batcher,
    compiled: Mapping[int, Compiled],
    clock: Callable[[], int],
    wait: Callable[[int], object],
) -> None:
    """Send the requests that arrive at these nanoseconds, ascending, and note each in `block`.

    A batch is sent when `batcher.most` are waiting or the oldest has waited its time, or at once
    after the last batch if that is later. It has all that have arrived by then, of at most
    `batcher.most`, and runs at the next size that is `compiled`. Each of its requests was scheduled
    when it arrived, and started and finished with it; `finished` is written last. What would begin
    after `until[0]`, which may be changed meanwhile, is left.
    """
    most, wait_ns, count = batcher.most, batcher.wait_ns, len(arrivals)
    by_requests = [compiled[batcher.size_for(requests)] for requests in range(1, most + 1)]
    scheduled, started, finished = block.scheduled, block.started, block.finished
    first, entered = 0, None
    while first < count:
        full = first + most
        due = arrivals[first] + wait_ns
        if full <= count:
            due = min(due, arrivals[full - 1])
        while (now := clock()) < min(due, until[0]):
            wait(min(due, now + PATIENCE_NS))
        if now >= until[0]:
            return
        end = bisect_right(arrivals, now, first + 1, min(full, count))
        one = by_requests[end - first - 1]
        if one is not entered:
            one.enter()
            entered = one
        begin = clock()
        one.run()
        ended = clock()
        scheduled[first:end] = array("q", arrivals[first:end])
        started[first:end] = array("q", (begin,)) * (end - first)
        finished[first:end] = array("q", (ended,)) * (end - first)
        first = end
