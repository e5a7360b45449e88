"""The measuring process: `python -m app.workers.measure`, one round, phase by phase."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from app.cases.round import SLEPT, MeasureJob, Phase, RoundResult
from app.cases.status import FITS, Status
from app.workers.conditions import refuse_crowd, round_warnings, take_place
from app.workers.execution_facts import engine_facts, executed, of_crowding, of_precision
from app.workers.lanes import first_axes, first_order
from app.workers.process import (
    StopRequest,
    in_our_words,
    limit_threads,
    prepare,
    reason_of,
    runtime_called,
    serve,
    state_of,
    unforeseen,
)
from app.workers.round_context import Tell, UnderWay
from app.workers.simulated_round import simulate_round
from app.workers.timed_round import time_round
from exporters.codec import from_json, to_json
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import GraphlapError, Reference, axes_key, is_of_system, load_reference
from runtimes.base import Runtime, Session
from runtimes.execution import Execution
from runtimes.options import all_options, sessions_of
from runtimes.session.precision import refuse_wider
from runtimes.session.session_group import (
    compile_batches,
    compile_sessions,
    options_on,
    refuse_sessions,
)

_LOOKS = 5
_JITTER_S = 0.05
"""Two clocks are read one after the other, and something may come between."""


def slept_s() -> float:
    """Seconds of sleep since the machine started; 0 where the system does not count them."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    # What comes between two readings makes the difference larger, never smaller.
    return min(
        -time.clock_gettime(time.CLOCK_MONOTONIC) + time.clock_gettime(time.CLOCK_BOOTTIME)
        for _ in range(_LOOKS)
    )


def has_slept(before_s: float) -> float:
    """Seconds of sleep since `slept_s` gave `before_s`; 0.0 if it has not slept."""
    since = slept_s() - before_s
    return since if since > _JITTER_S else 0.0


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
"""A round that ends so is not recorded: it is measured again when the sweep is resumed."""


def measure_round(
    job: MeasureJob,
    tell: Tell,
    stopped: Callable[[], bool],
    placing: Sequence[Diagnostic] = (),
) -> RoundResult:
    """Run the round; every failure becomes a result with its status and reason.

    `placing` are diagnostics of where this process runs.
    """
    this, slept_before_s = UnderWay(job, tell, stopped, placing), slept_s()
    with _noted(this):
        _measure(this, slept_before_s)
    _note_sleep(this, slept_before_s)
    return this.so_far()


def _note_sleep(this: UnderWay, before_s: float) -> None:
    if asleep_s := has_slept(before_s):
        reason = f"the machine slept for {asleep_s:.0f} s in it"
        this.note(status="cancelled", stop_reason=SLEPT, reason=reason)


@contextmanager
def _noted(this: UnderWay) -> Iterator[None]:
    """What is raised inside becomes the round's status and reason; the first failure stays."""
    try:
        yield
    except Exception as error:
        found = _told_of(error, this)
        if this.result.status in FITS:
            this.note(**found)
        else:
            error_text = str(found["reason"])
            this.warn(diagnostic("phase_failed_too", phase=this.phase, error=error_text))
    this.leave()


def _told_of(error: Exception, this: UnderWay) -> dict[str, Any]:
    if isinstance(error, GraphlapError):
        told = {"status": error.status or "run_failed", "reason": reason_of(error)}
        return {**told, "transient": is_of_system(error)}
    if isinstance(error, MemoryError):
        reason = f"the host ran out of memory in {this.phase}: use a smaller batch"
        return {"status": "out_of_memory", "reason": reason}
    if isinstance(error, OSError) and _is_of_the_disk(error, this.job):
        reason = f"the samples can't be written any more ({error.strerror})"
        return {"status": "cancelled", "stop_reason": "disk_full", "reason": reason}
    return _unexpected(error, this.phase)


def _is_of_the_disk(error: OSError, job: MeasureJob) -> bool:
    """Full, broken, or without the run's folder: that ends the sweep, not this case alone."""
    return error.errno in DISK_ERRORS or error.filename == job.samples_path


def _unexpected(error: Exception, phase: Phase) -> dict[str, Any]:
    """A failure that nobody foresaw, named with its phase."""
    status: Status = "compile_failed" if phase in ("import", "compile") else "run_failed"
    reason = f"{phase} failed with {unforeseen(error)}"
    return {"status": status, "reason": reason, "transient": is_of_system(error)}


def _measure(this: UnderWay, slept_before_s: float) -> None:
    job = this.job
    this.enter("import")
    runtime = _runtime(this)
    refuse_sessions(runtime, job.model, job.axes, job.settings)
    runtime.load()
    reference = load_reference(job.model.references[axes_key(first_axes(job))])
    this.leave()
    this.note(**engine_facts(runtime))
    this.enter("compile")
    with ExitStack() as held:
        for device in runtime.devices_in(job.settings.device):
            limit_bytes = job.device_memory_limit_bytes
            held.enter_context(runtime.limited(device, job.settings, limit_bytes))
        session = held.enter_context(closing(_compiled(runtime, job)))
        with _noted(this):
            _use(this, session, reference)
        _note_sleep(this, slept_before_s)
        # A fault of the device may end this process when its memory is given back.
        this.enter("teardown")
        this.tell({"event": "outcome", **to_json(this.so_far())})


def _use(this: UnderWay, session: Session, reference: Reference) -> None:
    """All that is done with a compiled session; raises what a run of it raises."""
    job = this.job
    this.leave()
    this.phases_ms["compile"] -= session.execution.inspection_ms
    _note_execution(this, session.execution)
    if session.execution.clock != "simulated":  # a card has one precision, and says so
        refuse_wider(job.model.precision, session.execution.precision, job.runtime)
    this.note(concurrency=len(session.lanes))
    refuse_crowd(len(session.lanes), this.result)
    for lane in reversed(session.lanes):
        lane.enter()
        lane.bind(reference.inputs)
    with in_our_words(session):
        this.enter("first_inference")
        begun = time.perf_counter_ns()
        session.lanes[0].run()
        first_ns = float(time.perf_counter_ns() - begun)
        this.leave()  # what is prepared until the next phase is no inference
        if session.execution.clock == "simulated":
            simulate_round(this, session, reference)
        else:
            time_round(this, session, reference, first_ns)
    memory = session.memory()
    if memory.device_peak_bytes is not None:
        facts = {**this.result.facts, "device_memory_source": memory.told_by}
        this.note(device_memory_peak_mb=memory.device_peak_bytes / 2**20, facts=facts)


def _compiled(runtime: Runtime, job: MeasureJob) -> Session:
    if job.batches:
        return compile_batches(runtime, job.batches, job.settings)
    if job.shapes:
        ordered = [job.shapes[number] for number in first_order(job)]
        return runtime.compile_shapes(job.model, ordered, job.settings)
    return compile_sessions(runtime, job.model, job.axes, job.settings)


def _runtime(this: UnderWay) -> Runtime:
    runtime = runtime_called(this.job.runtime)
    settings, cores = this.job.settings, len(this.result.environment["affinity"])
    variables = prepare(runtime, settings)
    if variables:
        this.note(environment={**this.result.environment, "variables": variables})
    state = state_of(runtime)
    if runtime.accelerator:
        for device in runtime.devices_in(settings.device):
            uuid = runtime.device_uuid(device)
            this.tell({"event": "device", "device": device, "uuid": uuid})
    known = options_on(runtime, settings.device)
    sessions = sessions_of(known, settings.options)
    this.note(
        runtime_version=state.version,
        options=all_options(known, settings.options),
    )
    this.warn(*of_crowding(sessions, settings.threads, cores))
    refuse_crowd(sessions * (settings.threads or cores), this.result)
    return runtime


def _note_execution(this: UnderWay, execution: Execution) -> None:
    this.note(**executed(execution))
    this.warn(*execution.warnings, *of_precision(this.job.model, execution))
    if execution.clock != "simulated":  # nothing that goes on here touches a simulated clock
        this.warn(*round_warnings(this.result.environment))


def main() -> int:
    return serve(_round)


def _round(values: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> RoundResult:
    job = from_json(MeasureJob, values)
    limit_threads(job.settings.threads)
    return measure_round(job, tell, StopRequest(), take_place(job))


if __name__ == "__main__":
    sys.exit(main())
