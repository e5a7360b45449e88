"""The timed part of a round: warm up, check, measure, check again, with the clock around runs.

`_measured` is the one place that asks whether the scenario is a closed or an open loop.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.cases.interference import Interference
from app.cases.round import Check
from app.stats.sustained import part_s
from app.workers.ahead import refuse_unqueued
from app.workers.at_once import AllAtOnce, Queries
from app.workers.awaited import awaited_checks
from app.workers.batching import batch_serving, warm_up
from app.workers.beside import beside
from app.workers.check import common
from app.workers.condition import polluting
from app.workers.doubts import of_states
from app.workers.floor import harness_floor_ns
from app.workers.lane import Blocks, OneLane
from app.workers.lanes import GIVING_WAIT, SeveralLanes
from app.workers.open_loop import OpenLoopSampler
from app.workers.placing import hold_memory
from app.workers.pollution import Pollution
from app.workers.round_schedule import timed_schedule
from app.workers.sampling import Measured, Sampler
from app.workers.shapes import InTurn, turns_sha256
from app.workers.thinning import kept_per_s
from app.workers.timing import Loop, loop_of, serving
from app.workers.under_way import UnderWay
from app.workers.watch import Watch
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import Reference, axes_key, load_reference
from runtimes.base import Arrays, Session
from runtimes.faults import Unsupported
from runtimes.session.batches import Batches
from runtimes.session.call_option import CALL

# A median needs six samples; more than half a second of them tells nothing further.
_LEAST_SPANS, _MOST_SPANS, _SPANS_NS = 6, 1000, 0.5e9


def time_round(this: UnderWay, session: Session, reference: Reference, first_ns: float) -> None:
    """Time a bound session as the job says; the collector rests while the clock runs.

    `first_ns` is how long its first run took. Raises what a run raises, and Unsupported where the
    loop that was asked for can't time it.
    """
    job, sets = this.job, _sets(this, reference)
    pollution = polluting(this, len(session.lanes))
    loop = _loop(this, session, sets)
    path = f"{session.execution.call_path}, timed in {loop}"
    this.note(harness_floor_ns=harness_floor_ns(loop), call_path=path)
    gc.collect()
    gc.freeze()
    gc.disable()
    this.note(**hold_memory(job, this.result))
    watch = Watch(this.result.environment["affinity"])
    this.enter("warmup")
    with beside(this) as neighbour, this.samples_file() as file:
        with _lanes(this, session, first_ns, sets, pollution) as lanes:
            if isinstance(lanes, InTurn):
                file.write(lanes.first_seen().tobytes())
                this.note(facts={**this.result.facts, "shapes_sha256": turns_sha256(job)})
            sampler = Sampler(
                lanes, job.limits, file, watch, this.report, this.stopped, kept_per_s(job.condition)
            )
            warm = warm_up(session, reference, job, sampler)
            this.note(
                warmup_iterations=warm.iterations,
                warmup_s=warm.seconds,
                settled=warm.settled,
            )
            before = this.check(session, reference)
            this.enter("measure")
            measured = _measured(this, session, sets, sampler, len(session.lanes) / warm.mean_ns)
        this.warn(*of_states(session.lanes, job.model.states))
        if neighbour is not None:
            neighbour.note(this, *watch.window_ns)
        _note_interference(this, watch.told())
        if job.condition.kind == "sustained":
            _note_sustained(this, watch, measured.iterations, sampler.left_out)
        if len(session.lanes) == 1:
            _note_spans(this, session, warm.median_ns)
    gc.enable()
    this.note_samples(
        measured.iterations,
        duration_s=measured.duration_s,
        stop_reason=measured.stop_reason,
        open_loop=measured.open_loop,
    )
    if warm.settled is False:
        this.warn(diagnostic("no_steady_state", warmup_s=warm.seconds))
    after = this.check(session, reference)
    if job.awaits_reference:
        before, after = awaited_checks(this, session.execution.precision, reference)
    this.note_check(_both(before, after))


def _both(before: Check | None, after: Check | None) -> Check | None:
    """The later one unless the earlier was wrong, with what both agree with."""
    if before is None or after is None:
        return after
    agreeing = common([before.agrees_with, after.agrees_with])
    return replace(after if before.output_ok else before, agrees_with=agreeing)


def _measured(
    this: UnderWay,
    session: Session,
    sets: Sequence[Arrays],
    closed: Sampler,
    capacity_per_ns: float,
) -> Measured:
    """Measure as the scenario says: `closed` is warm and goes on, or its lanes rest meanwhile.

    `capacity_per_ns` is how many requests all lanes serve in a nanosecond without a pause.
    """
    job, lanes = this.job, session.lanes
    if not job.scenario.is_open_loop:
        return closed.measure()
    schedule = timed_schedule(
        job.scenario, job.limits, job.arrivals_seed, job.batcher, 1e9 * capacity_per_ns
    )
    streaming = bool(job.model.states)
    serves = [serving(lane, job.wait_policy, GIVING_WAIT, streaming, sets) for lane in lanes]
    if isinstance(session, Batches):
        serves = [batch_serving(session, job)]
    return OpenLoopSampler(
        lanes, serves, schedule, closed.file, closed.watch, this.report, this.stopped
    ).measure()


def _loop(this: UnderWay, session: Session, sets: Sequence[Arrays]) -> Loop:
    """Which loop times; Unsupported where the one that was asked for can't."""
    loop = loop_of(session.lanes[0], bool(this.job.model.states), sets)
    if this.job.batcher is not None:
        loop = "Python"  # whichever size is next is not known before
    if loop != "C" and this.job.settings.options.get(CALL.name) == "c":
        raise Unsupported(
            f"{this.job.runtime} offers the loop in C no calls with these options and inputs",
            "use call=python",
        )
    return loop


def _lanes(
    this: UnderWay,
    session: Session,
    first_ns: float,
    sets: Sequence[Arrays],
    pollution: Pollution | None,
) -> Blocks:
    job, lanes, streaming = this.job, session.lanes, bool(this.job.model.states)
    if session.by_shape:
        return InTurn(session, job, first_ns)
    if job.scenario.kind == "ahead":
        refuse_unqueued(job, lanes[0])
    if job.scenario.kind == "multistream":
        return Queries(lanes, job.scenario, streaming, first_ns, sets)
    if job.scenario.kind == "offline":
        return AllAtOnce(lanes, streaming, first_ns, sets)
    how = job.scenario, job.wait_policy, streaming, first_ns, sets
    return OneLane(lanes[0], *how, pollution) if len(lanes) == 1 else SeveralLanes(lanes, *how)


def _sets(this: UnderWay, reference: Reference) -> list[Arrays]:
    """The inputs that are fed in turn, the reference's first; what is state is not fed."""
    model = this.job.model
    states = {pair.input for pair in model.states}
    files = model.rotation.get(axes_key(this.job.axes), ())
    sets = [reference.inputs, *(load_reference(file).inputs for file in files)] if files else []
    return [{n: a for n, a in one.items() if n not in states} for one in sets]


def _note_interference(this: UnderWay, told: Interference | None) -> None:
    """The clock while it was measured stands for the one that was read before."""
    this.note(interference=told)
    if told is not None and told.cpu_mhz_mean is not None:
        this.note(environment={**this.result.environment, "cpu_mhz": told.cpu_mhz_mean})


def _note_sustained(this: UnderWay, watch: Watch, kept: int, left_out: int) -> None:
    """How the machine was at both ends, and how many of the runs are on disk."""
    told = watch.at_the_ends(part_s(this.job.condition.seconds))
    told["sampled_fraction"] = kept / max(kept + left_out, 1)
    this.note(facts={**this.result.facts, **told})


def _note_spans(this: UnderWay, session: Session, typical_ns: float) -> None:
    """The medians of some further runs by the device's own clock, where there is one."""
    runs = min(max(int(_SPANS_NS / max(typical_ns, 1.0)), _LEAST_SPANS), _MOST_SPANS)
    spans = session.spans(runs)
    if spans is None:
        return
    parts = {
        "h2d_p50_us": spans.h2d_ns,
        "device_p50_us": spans.device_ns,
        "d2h_p50_us": spans.d2h_ns,
    }
    medians = {name: float(np.median(ns)) / 1e3 for name, ns in parts.items() if ns is not None}
    this.note(facts={**this.result.facts, **medians})
