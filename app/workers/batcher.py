"""A batcher's server in the measuring process: its lanes at each batch size, and its dispatcher."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.round import MeasureJob
from app.cases.scenario import Batcher
from app.workers.lanes import GIVING_WAIT, OneLane
from app.workers.loop import PATIENCE_NS, Arriving, Block, clock_ns
from app.workers.sampling import Sampler, WarmUp
from app.workers.timing import Serve
from exporters.types import Reference, axes_key, load_reference
from runtimes.base import Session
from runtimes.session.session_group import Batches


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


def parts(
    session: Session, reference: Reference, job: MeasureJob
) -> Iterator[tuple[int, Session, Reference]]:
    """What is fed and compared by itself: a batcher's session at each batch, with that batch.

    Without one it is the session, with 0.
    """
    if not isinstance(session, Batches):
        yield 0, session, reference
        return
    for (batch, one), model in zip(session.by_size.items(), job.batches, strict=True):
        yield batch, one, load_reference(model.references[axes_key(model.axes)])


def warm_up(session: Session, reference: Reference, job: MeasureJob, closed: Sampler) -> WarmUp:
    """Warm up as `closed` does; a batcher's session at each batch, in the time that one has.

    The batches are bound on the way. The median is that of the first batch, the mean is for each
    input of the largest one.
    """
    if not isinstance(session, Batches):
        return closed.warm_up()
    limits = replace(job.limits, warmup_max_s=job.limits.warmup_max_s / len(job.batches))
    ended: list[WarmUp] = []
    for _, one, fed in parts(session, reference, job):
        (lane,) = one.lanes
        lane.enter()
        lane.bind(fed.inputs)
        begun_ns = clock_ns()
        lane.run()
        first_ns = float(clock_ns() - begun_ns)
        alone = OneLane(lane, job.scenario, job.wait_policy, False, first_ns)
        ended.append(replace(closed, lanes=alone, limits=limits).warm_up())
    told = [one.settled for one in ended if one.settled is not None]
    return WarmUp(
        sum(one.iterations for one in ended),
        sum(one.seconds for one in ended),
        all(told) if told else None,
        ended[0].median_ns,
        ended[-1].mean_ns / max(session.by_size),
    )


def batch_serving(session: Batches, job: MeasureJob) -> Serve:
    """What serves the requests of an open loop through the job's batcher."""
    batcher, wait = job.batcher, GIVING_WAIT[job.wait_policy]
    assert batcher is not None, "only a job with a batcher has its batches compiled"
    compiled = {
        batch: Compiled(one.lanes[0].enter, one.lanes[0].run)
        for batch, one in session.by_size.items()
    }

    def serve(block: Block, arriving: Arriving) -> None:
        arrivals = arriving.times_ns.data
        dispatch(block, arrivals, arriving.until, batcher, compiled, clock_ns, wait)

    return serve
