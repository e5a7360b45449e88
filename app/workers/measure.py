"""The measuring process: `python -m app.workers.measure`, one round, phase by phase."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from app.cases.round import FORKED, SUSPENDED, MeasureJob, Phase, RoundResult, serves_more
from app.cases.status import FITS, Status
from app.workers import process
from app.workers.conditions import reject_crowd, round_warnings, take_place
from app.workers.execution_facts import (
    crowding_diagnostics,
    engine_facts,
    execution_fields,
    precision_diagnostics,
)
from app.workers.lanes import first_axes, first_order
from app.workers.process import (
    StopRequest,
    limit_threads,
    prepare,
    reason_of,
    runtime_of_spec,
    serve,
    state_of,
    translate_errors,
    unforeseen,
)
from app.workers.round_context import RoundContext, Tell
from app.workers.simulated_round import simulate_round
from app.workers.timed_round import time_round
from exporters.codec import from_json, to_json
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import GraphlapError, Reference, axes_key, is_of_system, load_reference
from runtimes.base import Runtime, Session
from runtimes.cuda import nvtx
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


def suspended_s() -> float:
    """Seconds of sleep since the machine started; 0 where the system does not count them."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    # What comes between two readings makes the difference larger, never smaller.
    return min(
        -time.clock_gettime(time.CLOCK_MONOTONIC) + time.clock_gettime(time.CLOCK_BOOTTIME)
        for _ in range(_LOOKS)
    )


def suspended_since(before_s: float) -> float:
    """Seconds of sleep since `suspended_s` gave `before_s`; 0.0 if it has not slept."""
    sleep_s = suspended_s() - before_s
    return sleep_s if sleep_s > _JITTER_S else 0.0


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
"""A round that ends so is not recorded: it is measured again when the sweep is resumed."""


_left_open: dict[str, Session] = {}
"""In a process that serves more rounds, the session of the last."""


def measure_round(
    job: MeasureJob,
    tell: Tell,
    is_stopped: Callable[[], bool],
    placing: Sequence[Diagnostic] = (),
) -> RoundResult:
    """Run the round; every failure becomes a result with its status and reason.

    `placing` are diagnostics of where this process runs.
    """
    context, suspended_before_s = RoundContext(job, tell, is_stopped, placing), suspended_s()
    if nvtx.is_missing():
        context.warn(diagnostic("nvtx_unavailable", libraries=nvtx.SONAMES))
    nvtx.begin(f"round {job.round} of {job.case.case_id}")
    with _record_failure(context):
        _measure(context, suspended_before_s)
    nvtx.end()
    if process.is_fork:
        context.note(facts={**context.result.facts, FORKED: 1})
    _note_sleep(context, suspended_before_s)
    return context.current_result()


def _note_sleep(context: RoundContext, before_s: float) -> None:
    if asleep_s := suspended_since(before_s):
        reason = f"the machine slept for {asleep_s:.0f} s in it"
        context.note(status="cancelled", stop_reason=SUSPENDED, reason=reason)


@contextmanager
def _record_failure(context: RoundContext) -> Iterator[None]:
    """What is raised inside becomes the round's status and reason; the first failure stays."""
    try:
        yield
    except Exception as error:
        fields = _failure_fields(error, context)
        if context.result.status in FITS:
            context.note(**fields)
        else:
            error_text = str(fields["reason"])
            context.warn(diagnostic("phase_failed_too", phase=context.phase, error=error_text))
    context.leave()


def _failure_fields(error: Exception, context: RoundContext) -> dict[str, Any]:
    if isinstance(error, GraphlapError):
        status = error.status or "run_failed"
        of_graph = status in ("run_failed", "compile_failed") and context.job.model.refusal
        # What no reference takes either: they know more of the graph than an engine says.
        told = GraphlapError(error.cause, of_graph[1]) if of_graph else error
        fields = {"status": status, "reason": reason_of(told)}
        return {**fields, "transient": is_of_system(error)}
    if isinstance(error, MemoryError):
        reason = f"the host ran out of memory in {context.phase}: use a smaller batch"
        return {"status": "out_of_memory", "reason": reason}
    if isinstance(error, OSError) and _is_of_the_disk(error, context.job):
        reason = f"the samples can't be written any more ({error.strerror})"
        return {"status": "cancelled", "stop_reason": "disk_full", "reason": reason}
    return _error_fields(error, context.phase)


def _is_of_the_disk(error: OSError, job: MeasureJob) -> bool:
    """Full, broken, or without the run's folder: that ends the sweep, not this case alone."""
    return error.errno in DISK_ERRORS or error.filename == job.samples_path


def _error_fields(error: Exception, phase: Phase) -> dict[str, Any]:
    """A failure that nobody foresaw, named with its phase."""
    status: Status = "compile_failed" if phase in ("import", "compile") else "run_failed"
    reason = f"{phase} failed with {unforeseen(error)}"
    return {"status": status, "reason": reason, "transient": is_of_system(error)}


def _measure(context: RoundContext, suspended_before_s: float) -> None:
    job = context.job
    context.enter("import")
    runtime = _runtime(context)
    refuse_sessions(runtime, job.model, job.axes, job.settings)
    runtime.load()
    reference = load_reference(job.model.references[axes_key(first_axes(job))])
    context.leave()
    context.note(**engine_facts(runtime))
    with ExitStack() as resources:
        for device in runtime.devices_in(job.settings.device):
            limit_bytes = job.asked.device_memory_limit_bytes
            resources.enter_context(runtime.limited(device, job.settings, limit_bytes))
        session = _session(context, runtime)
        if not job.is_reusable:
            resources.enter_context(closing(session))
        with _record_failure(context):
            _use(context, session, reference)
        _note_sleep(context, suspended_before_s)
        # A fault of the device may end this process when its memory is given back.
        context.enter("teardown")
        context.tell({"event": "outcome", **to_json(context.current_result())})


def _use(context: RoundContext, session: Session, reference: Reference) -> None:
    """All that is done with a compiled session; raises what a run of it raises."""
    job = context.job
    _note_execution(context, session.execution)
    if session.execution.clock != "simulated":  # a card has one precision, and says so
        refuse_wider(job.model.precision, session.execution.precision, job.case.runtime)
    context.note(concurrency=len(session.lanes))
    reject_crowd(len(session.lanes), context.result)
    for lane in reversed(session.lanes):
        lane.enter()
        lane.bind(reference.inputs)
    with translate_errors(session):
        context.enter("first_inference")
        start_ns = time.perf_counter_ns()
        session.lanes[0].run()
        first_ns = float(time.perf_counter_ns() - start_ns)
        context.leave()  # what is prepared until the next phase is no inference
        if session.execution.clock == "simulated":
            simulate_round(context, session, reference)
        else:
            time_round(context, session, reference, first_ns)
    memory = session.memory()
    if memory.device_peak_bytes is not None:
        facts = {**context.result.facts, "device_memory_source": memory.told_by}
        context.note(device_memory_peak_mb=memory.device_peak_bytes / 2**20, facts=facts)


def _session(context: RoundContext, runtime: Runtime) -> Session:
    """Compiled, unless the round before was of this case too and left it here."""
    job = context.job
    key = f"{job.case.case_id} {job.model.sha256}"
    if key in _left_open:
        return _left_open[key]
    while _left_open:
        _left_open.popitem()[1].close()
    context.enter("compile")
    session = _compile_session(runtime, job)
    context.leave()
    context.phases_ms["compile"] -= session.execution.inspection_ms
    if job.is_reusable:
        _left_open[key] = session
    return session


def _compile_session(runtime: Runtime, job: MeasureJob) -> Session:
    if job.batches:
        return compile_batches(runtime, job.batches, job.settings)
    if job.shapes:
        ordered = [job.shapes[number] for number in first_order(job)]
        return runtime.compile_shapes(job.model, ordered, job.settings)
    return compile_sessions(runtime, job.model, job.axes, job.settings)


def _runtime(context: RoundContext) -> Runtime:
    runtime = runtime_of_spec(context.job.case.runtime)
    settings, cores = context.job.settings, len(context.result.environment["affinity"])
    variables = prepare(runtime, settings)
    if variables:
        context.note(environment={**context.result.environment, "variables": variables})
    state = state_of(runtime)
    if runtime.accelerator:
        for device in runtime.devices_in(settings.device):
            uuid = runtime.device_uuid(device)
            context.tell({"event": "device", "device": device, "uuid": uuid})
    known_options = options_on(runtime, settings.device)
    sessions = sessions_of(known_options, settings.options)
    context.note(
        runtime_version=state.version,
        options=all_options(known_options, settings.options),
    )
    context.warn(*crowding_diagnostics(sessions, settings.threads, cores))
    reject_crowd(sessions * (settings.threads or cores), context.result)
    return runtime


def _note_execution(context: RoundContext, execution: Execution) -> None:
    context.note(**execution_fields(execution))
    context.warn(*execution.warnings, *precision_diagnostics(context.job.model, execution))
    if execution.clock != "simulated":  # nothing that goes on here touches a simulated clock
        context.warn(*round_warnings(context.result.environment))


def main() -> int:
    return serve(_round, lambda values, result: serves_more(from_json(MeasureJob, values), result))


def _round(values: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> RoundResult:
    job = from_json(MeasureJob, values)
    limit_threads(job.settings.threads)
    return measure_round(job, tell, StopRequest(), take_place(job))


if __name__ == "__main__":
    sys.exit(main())
