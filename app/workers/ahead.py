"""`ahead:N`: N runs put into a device's queue one after another, and one wait for all of them.

A sample is that whole: from before the first was queued until the last was complete. When a single
run began or ended only the device knows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat

from app.cases.round import MeasureJob
from app.workers.loop import WAIT, run_block
from app.workers.timing import Time
from runtimes.base import Lane
from runtimes.calls.timed import TimedCalls, built
from runtimes.faults import Unsupported


def refuse_unqueued(job: MeasureJob, lane: Lane) -> None:
    """Unsupported where runs can't be queued, or something has to be done between two of them."""
    scenario = job.scenario
    if lane.enqueue is None:
        raise Unsupported(
            f"{scenario} queues runs on a device, and {job.runtime} waits for each run by itself "
            "with these options",
            "use tensorrt or torch-cuda, or ort-cuda with boundary=device and cuda_graph=0",
        )
    if job.model.states:
        raise Unsupported(
            f"{scenario} leaves no time between two runs, in which {job.model.name}'s state has "
            "to be fed back",
            "use closed_loop, or a model without state",
        )
    if job.model.rotation:
        raise Unsupported(
            f"{scenario} leaves no time between two runs, in which other inputs could be fed",
            "remove --rotate-inputs",
        )


def ahead_timing(lane: Lane, runs: int) -> Time:
    """What times so many runs at a time of a lane that has a queue."""
    if lane.calls and built():
        *queueing, waiting = lane.calls
        calls = TimedCalls((*queueing * runs, waiting))
        return lambda block, count: calls.time(
            block.scheduled, block.started, block.finished, count
        )
    together = _together(lane, runs)
    return lambda block, count: run_block(block, count, together, None, 0, WAIT["spin"])


def _together(lane: Lane, runs: int) -> Callable[[], object]:
    enqueue, synchronize = lane.enqueue, lane.synchronize
    assert enqueue is not None and synchronize is not None

    def together() -> None:
        for _ in repeat(None, runs):
            enqueue()
        synchronize()

    return together
