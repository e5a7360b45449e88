"""A batcher's dispatcher: requests that arrive on time in, batches out, one after another.

Pure but for the clock that it is given, so that the same loop runs on a virtual one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from app.cases.batcher import Batcher
from app.cases.round import RECORD
from runtimes.base import Lane


@dataclass(frozen=True, slots=True)
class Compiled:
    """The graph at one batch: `enter` makes the thread able to `run` it."""

    enter: Callable[[], object]
    run: Callable[[], object]

    @classmethod
    def of(cls, lane: Lane) -> Self:
        return cls(lane.enter, lane.run)


class Batches:
    """Room for the batches of one block of requests: where each ends, when it began and ended."""

    def __init__(self, requests: int) -> None:
        self.behind = array("q", bytes(8 * requests))
        self.started = array("q", bytes(8 * requests))
        self.finished = array("q", bytes(8 * requests))

    def records(self, arrivals: array[int], count: int) -> np.ndarray:
        """One `RECORD` for each request of the first `count` batches, in their order.

        It was scheduled when it arrived, and started and finished with its batch.
        """
        behind = np.frombuffer(self.behind, np.int64, count)
        held = np.diff(behind, prepend=0)
        records = np.zeros(int(behind[-1]) if count else 0, RECORD)
        records["scheduled_ns"] = np.frombuffer(arrivals, np.int64, len(records))
        records["started_ns"] = np.repeat(np.frombuffer(self.started, np.int64, count), held)
        records["finished_ns"] = np.repeat(np.frombuffer(self.finished, np.int64, count), held)
        return records


def dispatch(
    batches: Batches,
    arrivals: array[int],
    batcher: Batcher,
    compiled: Mapping[int, Compiled],
    clock: Callable[[], int],
    wait: Callable[[int], object],
    until_ns: int,
) -> int:
    """Send the requests that arrive at these nanoseconds, ascending; how many batches that were.

    A batch is sent when `batcher.most` are waiting or the oldest has waited its time, or at once
    after the last batch if that is later. It has all that have arrived by then, of at most
    `batcher.most`, and runs at the next size that is `compiled`. A batch that would begin after
    `until_ns` is not sent, nor is any behind it.
    """
    most, wait_ns, last = batcher.most, batcher.wait_ns, len(arrivals) - 1
    by_count = [compiled[batcher.size_for(count)] for count in range(1, most + 1)]
    behind, started, finished = batches.behind, batches.started, batches.finished
    first = number = 0
    entered = None
    while first <= last:
        full = first + most - 1
        due = arrivals[first] + wait_ns
        if full <= last:
            due = min(due, arrivals[full])
        if due > until_ns:
            break
        wait(due)
        now = clock()
        if now > until_ns:
            break
        end = bisect_right(arrivals, now, first + 1, min(full, last) + 1)
        one = by_count[end - first - 1]
        if one is not entered:
            one.enter()
            entered = one
        begin = clock()
        one.run()
        finished[number] = clock()
        started[number] = begin
        behind[number] = end
        first, number = end, number + 1
    return number
