"""One round, phase by phase: a `MeasureJob` in, a `RoundResult` out, nothing raised.

The phases are import, compile, first inference, warm-up, correctness, measurement,
correctness again, teardown; each is timed and told to the parent as it begins.
"""

from __future__ import annotations

import errno
import gc
import resource
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from app.measure.check import check_session
from app.measure.environment import describe_round, round_warnings
from app.measure.floor import harness_floor_ns
from app.measure.job import MEASURED, SAMPLE, Check, MeasureJob, Phase, RoundResult, Status
from app.measure.sampling import Progress, Sampler
from exporters.types import GraphlapError, axes_key, load_reference
from runtimes import registry
from runtimes.base import AfterCompletion, NotAvailable, Runtime, Session, Unavailable

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
"""A round that ends so is not recorded: it is measured again when the sweep is resumed."""


@dataclass(slots=True)
class Round:
    """The state of a round in the making; `tell` sends an event to the parent."""

    job: MeasureJob
    tell: Callable[[dict[str, Any]], None]
    stopped: Callable[[], bool]
    phases_ms: dict[str, float] = field(default_factory=dict)
    phase: Phase = "import"
    _entered_ns: int = 0

    def enter(self, phase: Phase) -> None:
        self.leave()
        self.phase, self._entered_ns = phase, time.perf_counter_ns()
        self.tell({"event": "phase", "phase": phase})

    def leave(self) -> None:
        if self._entered_ns:
            spent = (time.perf_counter_ns() - self._entered_ns) / 1e6
            self.phases_ms[self.phase] = self.phases_ms.get(self.phase, 0.0) + spent
            self._entered_ns = 0

    def report(self, progress: Progress) -> None:
        self.tell(
            {
                "event": "progress",
                "phase": progress.phase,
                "iterations": progress.iterations,
                "elapsed_s": progress.elapsed_s,
                "p50_ns": progress.p50_ns,
                "p99_ns": progress.p99_ns,
            }
        )


def measure_round(
    job: MeasureJob, tell: Callable[[dict[str, Any]], None], stopped: Callable[[], bool]
) -> RoundResult:
    """Run the round; every failure becomes a result with its status and reason."""
    this = Round(job, tell, stopped)
    environment = describe_round(job.settings.threads)
    result = RoundResult(
        case_id=job.case_id,
        round=job.round,
        status="ok",
        started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        environment=environment,
        warnings=tuple(round_warnings(environment)),
    )
    try:
        result = _measure(this, result)
    except GraphlapError as error:
        result = replace(result, status=_status(error.status), reason=str(error))
    except MemoryError:
        result = replace(
            result,
            status="out_of_memory",
            reason=f"the host ran out of memory in {this.phase}: use a smaller batch",
        )
    except Exception as error:
        result = _unexpected(this, result, error)
    this.leave()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return replace(result, phases_ms=dict(this.phases_ms), rss_peak_mb=peak_mb)


def _unexpected(this: Round, result: RoundResult, error: Exception) -> RoundResult:
    """A disk that is full ends the sweep; anything else is an engine's failure, with its phase."""
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        reason = f"the samples could not be written: {error.strerror}; free space, then --resume"
        return replace(result, status="cancelled", stop_reason="disk_full", reason=reason)
    traceback.print_exception(error, file=sys.stderr)
    first_line = (str(error).splitlines() or [""])[0]
    status: Status = "compile_failed" if this.phase in ("import", "compile") else "run_failed"
    reason = f"{this.phase} failed with {type(error).__name__}: {first_line}"
    return replace(result, status=status, reason=reason)


def _status(text: str) -> Status:
    return text or "run_failed"  # type: ignore[return-value]


def _measure(this: Round, result: RoundResult) -> RoundResult:
    job = this.job
    this.enter("import")
    spec = registry.parse_spec(job.runtime)
    runtime: Runtime = registry.load(spec.name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        raise NotAvailable(state.reason, state.remedy)
    result = replace(result, runtime_version=state.version)
    runtime.refuse(job.model, job.axes, job.settings)
    runtime.load()
    reference = load_reference(job.model.references[axes_key(job.axes)])

    this.enter("compile")
    with closing(runtime.compile(job.model, job.axes, job.settings)) as session:
        execution = session.execution
        result = replace(
            result,
            clock=execution.clock,
            boundary=execution.boundary,
            call_path=execution.call_path,
            execution_provider=execution.provider,
            precision=execution.precision,
            device_name=execution.device_name,
            facts=dict(execution.facts),
            warnings=result.warnings + execution.warnings + _precision_warning(job, session),
        )
        if execution.elsewhere:
            nodes = ", ".join(f"{n.op} {n.node!r} on {n.provider}" for n in execution.elsewhere[:5])
            more = len(execution.elsewhere) - 5
            nodes += f" and {more} more" if more > 0 else ""
            result = replace(
                result,
                status="partial",
                reason=f"not all of the graph ran on {execution.provider}: {nodes}",
                placement=tuple(
                    {"node": n.node, "op": n.op, "provider": n.provider}
                    for n in execution.elsewhere
                ),
            )
        session.bind(reference.inputs)
        this.enter("first_inference")
        begun = time.perf_counter_ns()
        session.run()
        first_ns = float(time.perf_counter_ns() - begun)

        def check() -> Check:
            this.enter("correctness")
            return check_session(session, reference.inputs, reference.outputs, job.model.reference)

        if execution.clock == "simulated":
            result = _simulate(this, result, session, check())
        else:
            result = _time(this, result, session, check, first_ns)
        memory = session.memory()
        if memory.device_peak_bytes is not None:
            result = replace(result, device_memory_peak_mb=memory.device_peak_bytes / 2**20)
        this.enter("teardown")
    return result


def _precision_warning(job: MeasureJob, session: Session) -> tuple[str, ...]:
    asked, executed = job.settings.precision, session.execution.precision
    if executed == asked:
        return ()
    return (f"{asked} was asked for and {executed} was executed",)


def _time(
    this: Round,
    result: RoundResult,
    session: Session,
    check: Callable[[], Check],
    first_ns: float,
) -> RoundResult:
    job = this.job
    floor_ns = harness_floor_ns()
    gc.collect()
    gc.freeze()
    gc.disable()
    with Path(job.samples_path).open("wb", buffering=0) as file:
        sampler = Sampler(
            session,
            job.scenario,
            job.wait_policy,
            bool(job.model.states),
            job.limits,
            file,
            this.report,
            this.stopped,
        )
        this.enter("warmup")
        warm = sampler.warm_up(first_ns)
        before = check()
        this.enter("measure")
        measured = sampler.measure(warm.median_ns)
    gc.enable()
    after = check()
    result = replace(
        result,
        samples=Path(job.samples_path).name,
        harness_floor_ns=floor_ns,
        warmup_iterations=warm.iterations,
        warmup_s=warm.seconds,
        steady_state=warm.steady,
        iterations=measured.iterations,
        duration_s=measured.duration_s,
        stop_reason=measured.stop_reason,
    )
    if not warm.steady:
        result = replace(
            result,
            warnings=(
                *result.warnings,
                f"no_steady_state: after {warm.seconds:.1f} s of warm-up the medians still moved",
            ),
        )
    return _with_check(result, before if not before.output_ok else after)


def _simulate(this: Round, result: RoundResult, session: Session, check: Check) -> RoundResult:
    """Take the samples from the simulator; a graph it holds only in part has no latency."""
    job = this.job
    result = _with_check(result, check)
    if result.status == "partial":
        return replace(result, stop_reason="partial")
    this.enter("measure")
    arrivals = AfterCompletion(job.limits.simulated_samples, round(job.scenario.gap_us * 1e3))
    samples = session.simulate(arrivals, np.random.default_rng(job.seed))
    records = np.zeros(len(samples.started_ns), dtype=SAMPLE)
    records["scheduled_ns"] = samples.scheduled_ns
    records["started_ns"] = samples.started_ns
    records["finished_ns"] = samples.finished_ns
    records["phase"] = MEASURED
    Path(job.samples_path).write_bytes(records.tobytes())
    simulated_s = float(samples.finished_ns[-1] - samples.scheduled_ns[0]) / 1e9
    return replace(
        result,
        samples=Path(job.samples_path).name,
        iterations=len(records),
        duration_s=simulated_s,
        stop_reason="simulated",
    )


def _with_check(result: RoundResult, check: Check) -> RoundResult:
    """A wrong row keeps its timing and is marked; a failed status is never improved."""
    result = replace(result, check=check)
    if check.output_ok:
        return result
    return replace(
        result,
        status="wrong_output",
        reason=f"output {check.worst_output!r} differs from the {check.reference} reference by "
        f"{check.max_rel_error:.2g} of its largest value, and {check.tolerance:g} is allowed",
    )
