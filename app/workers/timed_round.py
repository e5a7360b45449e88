"""The timed part of a round: warm up, check, measure, check again, with the clock around runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np

from app.cases.round import AWAITING, SETS, TIMED_IN, Check, MeasureJob
from app.cases.turns import LEFT, PLACES, READY, TURN_EVERY, TURN_SET, TurnSeat, TurnStart
from app.stats.steadiness import part_s
from app.workers.batcher import batch_serving, warm_up
from app.workers.colocation import colocated_load
from app.workers.conditions import hold_memory
from app.workers.execution_facts import state_diagnostics
from app.workers.lanes import (
    GIVING_WAIT,
    Blocks,
    OneLane,
    SeveralLanes,
    ShapeLanes,
    first_axes,
    reject_unqueued,
    turns_sha256,
)
from app.workers.memory_places import MemoryPlaces
from app.workers.multistream import AllAtOnce, Queries
from app.workers.open_loop import OpenLoopSampler, timed_schedule
from app.workers.output_check import check_outputs, common
from app.workers.process import next_message
from app.workers.round_context import RoundContext
from app.workers.sampling import MeasurementResult, Sampler, sampling_rate
from app.workers.system_counters import Watch
from app.workers.timing import CacheEviction, Loop, harness_overhead_ns, loop_of, serving
from app.workers.turns import TurnRing, measure_in_turns, turn_s
from exporters.codec import from_json
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import ExportedModel, Reference, axes_key, load_reference
from runtimes import registry
from runtimes.base import Arrays, DeviceEviction, Session
from runtimes.calls import built, core_clock_mhz, core_operations_per_us
from runtimes.errors import Unsupported
from runtimes.execution import Spans
from runtimes.session.host import CALL
from runtimes.session.session_group import Batches


@contextmanager
def cache_eviction(context: RoundContext, lanes: int) -> Iterator[CacheEviction | None]:
    """What goes through the caches between the runs of a session of so many lanes, and noted.

    None where nothing does; Unsupported where there is no between, or no such cache.
    """
    condition = context.job.case.condition
    if not condition.evicts:
        yield None
        return
    if lanes > 1:
        raise Unsupported(
            f"{condition} goes between two runs, and {lanes} runs at once have no between",
            "use one session and one stream",
        )
    with ExitStack() as stack:
        if condition.kind == "cold":
            eviction, size = CacheEviction.of_size(condition.bytes), condition.bytes
            context.warn(*_warm_cache_warnings(context.job))
        else:
            device = _device_eviction(context.job)
            stack.callback(device.close)
            eviction, size = CacheEviction.on_device(device), device.bytes
        figures = {"evicted_mb": size / 1e6, "eviction_ms": eviction.pass_ns / 1e6}
        context.note(facts={**context.result.facts, **figures})
        yield eviction


def _device_eviction(job: MeasureJob) -> DeviceEviction:
    spec = registry.parse_spec(job.case.runtime)
    device = registry.load(spec.name).device_eviction(spec.device)
    if device is None:
        raise Unsupported(
            f"{job.case.runtime} has no cache of a device to evict", "use --condition cold:64MB"
        )
    return device


def _warm_cache_warnings(job: MeasureJob) -> Iterator[Diagnostic]:
    """The caches that no pollution reaches."""
    if job.settings.threads != 1:
        yield diagnostic("private_caches_warm")
    if registry.load(registry.parse_spec(job.case.runtime).name).accelerator:
        yield diagnostic("device_caches_warm")


def awaited_checks(
    context: RoundContext, precision: str, fed_reference: Reference
) -> tuple[Check | None, Check | None]:
    """The checks before and after the measurement, once the parent has sent the whole model.

    `fed_reference` has the inputs that the session was given. None where the parent ends the wait,
    or where the reference is of other inputs: the round is then stopped and does not count.
    """
    context.leave()  # waiting is no part of a phase
    context.tell({"event": AWAITING})
    message = next_message()
    if "model" not in message:
        context.note(stop_reason="stopped")
        return None, None
    context.enter("correctness")
    model = from_json(ExportedModel, message["model"])
    reference = load_reference(model.references[axes_key(first_axes(context.job))])
    if not _have_equal_inputs(fed_reference, reference):
        context.note(stop_reason="stopped")
        return None, None
    context.use_model(model)
    if model.uncompared is not None:
        return None, None
    tolerance = context.job.asked.tolerance
    first_check, second_check = (
        check_outputs(outputs, precision, reference, model, tolerance, context.job.case.runtime)
        for outputs in context.kept_outputs
    )
    return first_check, second_check


def _have_equal_inputs(first: Reference, second: Reference) -> bool:
    """Whether both have the same inputs, bit by bit."""
    return first.inputs.keys() == second.inputs.keys() and all(
        (array.dtype, array.shape) == (second.inputs[name].dtype, second.inputs[name].shape)
        and array.tobytes() == second.inputs[name].tobytes()
        for name, array in first.inputs.items()
    )


# A median needs six samples; more than half a second of them tells nothing further.
_MINIMUM_SPANS, _MAXIMUM_SPANS, _SPANS_NS = 6, 1000, 0.5e9


def time_round(
    context: RoundContext, session: Session, reference: Reference, first_ns: float
) -> None:
    """Time a bound session as the job says; the collector rests while the clock runs.

    `first_ns` is how long its first run took. Raises what a run raises, and Unsupported where the
    loop that was asked for can't time it.
    """
    with cache_eviction(context, len(session.lanes)) as eviction:
        _time_round(context, session, reference, first_ns, eviction)


def _time_round(
    context: RoundContext,
    session: Session,
    reference: Reference,
    first_ns: float,
    pollution: CacheEviction | None,
) -> None:
    job, sets = context.job, _sets(context, reference)
    loop = _loop(context, session, sets)
    path = f"{session.execution.call_path}{TIMED_IN}{loop}"
    context.note(harness_floor_ns=harness_overhead_ns(loop), call_path=path)
    if len(job.model.input_files) > 1 and sets and job.case.scenario.kind != "multistream":
        context.note(facts={**context.result.facts, SETS: len(sets)})  # else a record is of several
    gc.collect()
    gc.freeze()
    gc.disable()
    context.note(**hold_memory(job, context.result, context.memory_before))
    # An open loop is followed by another thread than those that time.
    is_measured = built() and not job.case.scenario.is_open_loop
    core = (core_clock_mhz, core_operations_per_us) if is_measured else ()
    watch = Watch(context.result.environment["affinity"], *core)
    context.enter("warmup")
    with colocated_load(context) as neighbour, context.samples_file() as file:
        with _lanes(context, session, first_ns, sets, pollution) as lanes:
            if isinstance(lanes, ShapeLanes):
                file.write(lanes.run_each_once().tobytes())
                context.note(facts={**context.result.facts, "shapes_sha256": turns_sha256(job)})
            sampler = Sampler(
                lanes,
                job.limits,
                file,
                watch,
                context.report,
                context.stopped,
                sampling_rate(job.case.condition),
            )
            warm = warm_up(session, reference, job, sampler)
            context.note(
                warmup_iterations=warm.iterations,
                warmup_s=warm.seconds,
                settled=warm.settled,
            )
            # A held state has moved on by the last measured run, or it was fed another set.
            has_check_runs = job.limits.has_check_runs or bool(job.model.states or sets)
            first_check = context.check(session, reference) if has_check_runs else None
            context.enter("measure")
            measurement = _measure(
                context, session, sets, sampler, len(session.lanes) / warm.mean_ns
            )
        context.warn(*state_diagnostics(session.lanes, job.model.states))
        if neighbour is not None:
            neighbour.note(context, *watch.window_ns)
        context.note(interference=watch.interference())
        if job.case.condition.kind == "sustained":
            end_facts = watch.at_the_ends(part_s(job.case.condition.seconds))
            kept_count, dropped_count = measurement.iterations, sampler.dropped_count
            end_facts["sampled_fraction"] = kept_count / max(kept_count + dropped_count, 1)
            context.note(facts={**context.result.facts, **end_facts})
        # The further runs follow one another, and so have warm caches.
        if len(session.lanes) == 1 and job.case.condition.kind != "cold-l2":
            _note_spans(context, session, warm.median_ns)
    gc.enable()
    context.note_samples(
        measurement.iterations,
        duration_s=measurement.duration_s,
        stop_reason=measurement.stop_reason,
        open_loop=measurement.open_loop,
    )
    if warm.settled is False:
        context.warn(diagnostic("no_steady_state", warmup_s=warm.seconds))
    check = context.check if has_check_runs else context.check_last_run
    second_check = check(session, reference)
    if job.awaits_reference:
        first_check, second_check = awaited_checks(context, session.execution.precision, reference)
    context.note_check(_merge_checks(first_check, second_check))


def _merge_checks(first: Check | None, second: Check | None) -> Check | None:
    """The later one unless the earlier was wrong, with what both agree with."""
    if first is None or second is None:
        return second
    return replace(
        second if first.output_ok else first,
        agrees_with=common([first.agrees_with, second.agrees_with]),
        only_own=first.only_own or second.only_own,
        disputed=first.disputed or second.disputed,
    )


def _measure(
    context: RoundContext,
    session: Session,
    sets: Sequence[Arrays],
    sampler: Sampler,
    capacity_per_ns: float,
) -> MeasurementResult:
    """Measure as the scenario says: a closed loop is warm and goes on, else its lanes rest.

    `capacity_per_ns` is how many requests all lanes serve in a nanosecond without a pause.
    """
    job, lanes = context.job, session.lanes
    if job.seat is not None:
        return _measure_in_turns(context, job.seat, sampler, 1e-9 / capacity_per_ns)
    if not job.case.scenario.is_open_loop:
        return sampler.measure()
    schedule = timed_schedule(
        job.case.scenario, job.limits, job.arrivals_seed, job.case.batcher, 1e9 * capacity_per_ns
    )
    schedule = replace(schedule, sets=max(len(sets), 1))
    streaming = bool(job.model.states)
    serves = [serving(lane, job.case.wait_policy, GIVING_WAIT, streaming, sets) for lane in lanes]
    if isinstance(session, Batches):
        serves = [batch_serving(session, job)]
    return OpenLoopSampler(
        lanes, serves, schedule, sampler.file, sampler.watch, context.report, context.stopped
    ).measure()


def _measure_in_turns(
    context: RoundContext, seat: TurnSeat, sampler: Sampler, run_s: float
) -> MeasurementResult:
    """Wait until the whole set is ready, then take turns; waiting is no part of a phase."""
    context.leave()
    length_s = turn_s(run_s)
    with TurnRing(seat) as ring:
        context.tell({"event": READY, "pid": os.getpid(), "turn_s": length_s})
        message = next_message()
        if "turns" not in message:
            return MeasurementResult(0, 0.0, "stopped")
        start = from_json(TurnStart, message["turns"])
        ring.begin(start)
        context.enter("measure")
        kind = context.job.asked.memory_kind(context.job.model)
        places = MemoryPlaces(context.memory_before, kind)
        measurement, waited_s = measure_in_turns(sampler, ring, length_s, places)
    context.leave()
    context.phases_ms["measure"] -= waited_s * 1e3
    context.tell({"event": LEFT})
    taken = {TURN_SET: f"{seat.set_name}:{seat.group}", PLACES: places.count}
    facts = {**context.result.facts, **taken}
    context.note(facts=facts if ring.every == 1 else {**facts, TURN_EVERY: ring.every})
    return measurement


def _loop(context: RoundContext, session: Session, sets: Sequence[Arrays]) -> Loop:
    """Which loop times; Unsupported where the one that was asked for can't."""
    loop = loop_of(session.lanes[0], bool(context.job.model.states), sets)
    if context.job.case.batcher is not None:
        loop = "Python"  # whichever size is next is not known before
    if loop != "C" and context.job.settings.options.get(CALL.name) == "c":
        raise Unsupported(
            f"{context.job.case.runtime} offers the loop in C no calls with these options and "
            "inputs",
            "use call=python",
        )
    return loop


def _lanes(
    context: RoundContext,
    session: Session,
    first_ns: float,
    sets: Sequence[Arrays],
    pollution: CacheEviction | None,
) -> Blocks:
    job, lanes, streaming = context.job, session.lanes, bool(context.job.model.states)
    if session.by_shape:
        return ShapeLanes(session, job, first_ns)
    if job.case.scenario.kind == "ahead":
        reject_unqueued(job, lanes[0])
    if job.case.scenario.kind == "multistream":
        return Queries(lanes, job.case.scenario, streaming, first_ns, sets)
    if job.case.scenario.kind == "offline":
        return AllAtOnce(lanes, streaming, first_ns, sets)
    settings = job.case.scenario, job.case.wait_policy, streaming, first_ns, sets
    if len(lanes) == 1:
        return OneLane(lanes[0], *settings, pollution)
    return SeveralLanes(lanes, *settings)


def _sets(context: RoundContext, reference: Reference) -> list[Arrays]:
    """The inputs that are fed in turn, the reference's first; what is state is not fed."""
    model = context.job.model
    states = {pair.input for pair in model.states}
    files = model.rotation.get(axes_key(context.job.axes), ())
    sets = [reference.inputs, *(load_reference(file).inputs for file in files)] if files else []
    return [{n: a for n, a in arrays.items() if n not in states} for arrays in sets]


def _note_spans(context: RoundContext, session: Session, typical_ns: float) -> None:
    """Some further runs by the device's own clock, where there is one."""
    runs = min(max(int(_SPANS_NS / max(typical_ns, 1.0)), _MINIMUM_SPANS), _MAXIMUM_SPANS)
    spans = session.spans(runs)
    if spans is not None:
        context.note(facts={**context.result.facts, **device_facts(spans)})


_RUNS_OF_P99 = 300
"""With fewer, the 99th percentile has no upper bound at 95 %."""
_LAUNCH_SHARE = 0.8
"""A run is launch-bound if the host needs more of its time to queue it."""


def device_facts(spans: Spans) -> dict[str, float | int | str]:
    """Figures of runs on the device's clock, and what limited them."""
    parts = {
        "h2d_p50_us": spans.h2d_ns,
        "device_p50_us": spans.device_ns,
        "d2h_p50_us": spans.d2h_ns,
        "launch_p50_us": spans.queued_ns,
    }
    facts: dict[str, float | int | str] = {
        name: float(np.median(ns)) / 1e3 for name, ns in parts.items() if ns is not None
    }
    facts["device_runs"] = len(spans.device_ns)
    facts["device_min_us"] = float(spans.device_ns.min()) / 1e3
    if len(spans.device_ns) >= _RUNS_OF_P99:
        facts["device_p99_us"] = float(np.quantile(spans.device_ns, 0.99)) / 1e3
    if spans.queued_ns is not None and spans.run_ns is not None:
        share = float(np.median(spans.queued_ns / np.maximum(spans.run_ns, 1)))
        facts["device_bound"] = "launch" if share > _LAUNCH_SHARE else "compute"
    return facts
