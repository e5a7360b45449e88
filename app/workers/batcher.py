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
    end_times: Sequence[int],
    batcher: Batcher,
    compiled_by_size: Mapping[int, Compiled],
    clock: Callable[[], int],
    wait: Callable[[int], object],
) -> None:
    """Send the requests that arrive at these nanoseconds, ascending, and note each in `block`.

    A batch is sent when `batcher.most` are waiting or the oldest has waited its time, or at once
    after the last batch if that is later. It has all that have arrived by then, of at most
    `batcher.most`, and runs at the next size that is `compiled_by_size`. Each of its requests was
    scheduled when it arrived, and started and finished with it; `finished` is written last. What
    would begin after `until[0]`, which may be changed meanwhile, is left.
    """
    maximum, wait_ns, count = batcher.most, batcher.wait_ns, len(arrivals)
    by_requests = [compiled_by_size[batcher.size_for(r)] for r in range(1, maximum + 1)]
    scheduled_ns, starts_ns, ends_ns = block.scheduled, block.started, block.finished
    first, entered_call = 0, None
    while first < count:
        full = first + maximum
        due_ns = arrivals[first] + wait_ns
        if full <= count:
            due_ns = min(due_ns, arrivals[full - 1])
        while (now_ns := clock()) < min(due_ns, end_times[0]):
            wait(min(due_ns, now_ns + PATIENCE_NS))
        if now_ns >= end_times[0]:
            return
        end = bisect_right(arrivals, now_ns, first + 1, min(full, count))
        batch_call = by_requests[end - first - 1]
        if batch_call is not entered_call:
            batch_call.enter()
            entered_call = batch_call
        begin = clock()
        batch_call.run()
        finish_ns = clock()
        scheduled_ns[first:end] = array("q", arrivals[first:end])
        starts_ns[first:end] = array("q", (begin,)) * (end - first)
        ends_ns[first:end] = array("q", (finish_ns,)) * (end - first)
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
    for (batch, batch_session), model in zip(session.by_size.items(), job.batches, strict=True):
        yield batch, batch_session, load_reference(model.references[axes_key(model.axes)])


def warm_up(session: Session, reference: Reference, job: MeasureJob, sampler: Sampler) -> WarmUp:
    """Warm up as a closed loop does; a batcher's session at each batch, in the time that one has.

    The batches are bound on the way. The median is that of the first batch, the mean is for each
    input of the largest one.
    """
    if not isinstance(session, Batches):
        return sampler.warm_up()
    limits = replace(job.limits, warmup_max_s=job.limits.warmup_max_s / len(job.batches))
    warm_ups: list[WarmUp] = []
    for _, item, batch_reference in parts(session, reference, job):
        (lane,) = item.lanes
        lane.enter()
        lane.bind(batch_reference.inputs)
        start_ns = clock_ns()
        lane.run()
        first_ns = float(clock_ns() - start_ns)
        single_lane = OneLane(lane, job.case.scenario, job.case.wait_policy, False, first_ns)
        warm_ups.append(replace(sampler, lanes=single_lane, limits=limits).warm_up())
    settled_flags = [item.settled for item in warm_ups if item.settled is not None]
    return WarmUp(
        sum(item.iterations for item in warm_ups),
        sum(item.seconds for item in warm_ups),
        all(settled_flags) if settled_flags else None,
        warm_ups[0].median_ns,
        warm_ups[-1].mean_ns / max(session.by_size),
    )


def batch_serving(session: Batches, job: MeasureJob) -> Serve:
    """What serves the requests of an open loop through the job's batcher."""
    batcher, wait = job.case.batcher, GIVING_WAIT[job.case.wait_policy]
    assert batcher is not None, "only a job with a batcher has its batches compiled"
    compiled_by_size = {
        batch: Compiled(batch_session.lanes[0].enter, batch_session.lanes[0].run)
        for batch, batch_session in session.by_size.items()
    }

    def serve(block: Block, arriving: Arriving) -> None:
        arrivals = arriving.times_ns.data
        dispatch(block, arrivals, arriving.end_ns, batcher, compiled_by_size, clock_ns, wait)

    return serve
