"""The timed part of a round: warm up, check, measure, check again, with the clock around runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.cases.round import AWAITING, Check, MeasureJob
from app.cases.telemetry import Interference
from app.stats.steadiness import part_s
from app.workers.batcher import batch_serving, warm_up
from app.workers.colocation import beside
from app.workers.conditions import hold_memory
from app.workers.execution_facts import of_states
from app.workers.lanes import (
    GIVING_WAIT,
    Blocks,
    InTurn,
    OneLane,
    SeveralLanes,
    first_axes,
    refuse_unqueued,
    turns_sha256,
)
from app.workers.multistream import AllAtOnce, Queries
from app.workers.open_loop import OpenLoopSampler, timed_schedule
from app.workers.output_check import check_outputs, common
from app.workers.process import next_message
from app.workers.round_context import UnderWay
from app.workers.sampling import Measured, Sampler, kept_per_s
from app.workers.system_counters import Watch
from app.workers.timing import Loop, Pollution, harness_floor_ns, loop_of, serving
from exporters.codec import from_json
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import ExportedModel, Reference, axes_key, load_reference
from runtimes import registry
from runtimes.base import Arrays, Session
from runtimes.errors import Unsupported
from runtimes.session.host import CALL
from runtimes.session.session_group import Batches


def polluting(this: UnderWay, lanes: int) -> Pollution | None:
    """What goes through the caches between the runs of a session of so many lanes, and noted.

    None where nothing does; Unsupported where there is no between.
    """
    condition = this.job.condition
    if condition.kind != "cold":
        return None
    if lanes > 1:
        raise Unsupported(
            f"{condition} goes between two runs, and {lanes} runs at once have no between",
            "use one session and one stream",
        )
    pollution = Pollution.of(condition.bytes)
    told = {"evicted_mb": condition.bytes / 1e6, "eviction_ms": pollution.pass_ns / 1e6}
    this.note(facts={**this.result.facts, **told})
    this.warn(*_that_stay_warm(this.job))
    return pollution


def _that_stay_warm(job: MeasureJob) -> Iterator[Diagnostic]:
    """The caches that no pollution reaches."""
    if job.settings.threads != 1:
        yield diagnostic("private_caches_warm")
    if registry.load(registry.parse_spec(job.runtime).name).accelerator:
        yield diagnostic("device_caches_warm")


def awaited_checks(
    this: UnderWay, precision: str, fed: Reference
) -> tuple[Check | None, Check | None]:
    """The checks before and after the measurement, once the parent has sent the whole model.

    `fed` has the inputs that the session was given. None where the parent ends the wait, or where
    the reference is of other inputs: the round is then stopped and does not count.
    """
    this.leave()  # waiting is no part of a phase
    this.tell({"event": AWAITING})
    message = next_message()
    if "model" not in message:
        this.note(stop_reason="stopped")
        return None, None
    this.enter("correctness")
    model = from_json(ExportedModel, message["model"])
    reference = load_reference(model.references[axes_key(first_axes(this.job))])
    if not _same(fed, reference):
        this.note(stop_reason="stopped")
        return None, None
    this.use_model(model)
    if model.uncompared is not None:
        return None, None
    tolerance = this.job.tolerance
    before, after = (
        check_outputs(outputs, precision, reference, model, tolerance)
        for outputs in this.kept_outputs
    )
    return before, after


def _same(one: Reference, other: Reference) -> bool:
    """Whether both have the same inputs, bit by bit."""
    return one.inputs.keys() == other.inputs.keys() and all(
        (array.dtype, array.shape) == (other.inputs[name].dtype, other.inputs[name].shape)
        and array.tobytes() == other.inputs[name].tobytes()
        for name, array in one.inputs.items()
    )


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
