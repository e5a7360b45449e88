"""A batcher's server in the measuring process: the graph at each batch, bound, warm and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.cases.round import MeasureJob
from app.workers.arriving import Arriving
from app.workers.dispatch import Compiled, dispatch
from app.workers.lane import OneLane
from app.workers.lanes import GIVING_WAIT
from app.workers.loop import Block, clock_ns
from app.workers.sampling import Sampler, WarmUp
from app.workers.timing import Serve
from exporters.types import Reference, axes_key, load_reference
from runtimes.base import Session
from runtimes.session.batches import Batches


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
