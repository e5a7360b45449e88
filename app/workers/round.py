"""One round, phase by phase: a `MeasureJob` in, a `RoundResult` out, nothing raised.

The phases are import, compile, first inference, warm-up, correctness, measurement,
correctness again, teardown; each is timed and told to the parent as it begins. What is
known when a round fails stays in its result.
"""

from __future__ import annotations

import errno
import gc
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from app.cases.interference import Interference
from app.cases.round import MEASURED, RECORD, Check, MeasureJob, Phase, RoundResult
from app.cases.status import Status
from app.stats.quantiles import order_statistic
from app.workers.check import check_session, why_wrong
from app.workers.conditions import describe_round, peak_rss_mb, round_warnings
from app.workers.doubts import of_crowding, of_itself, of_nans, of_precision
from app.workers.floor import harness_floor_ns
from app.workers.lane import Blocks, OneLane
from app.workers.lanes import SeveralLanes
from app.workers.sampling import Progress, Sampler
from app.workers.timing import Loop, loop_of
from app.workers.watch import Watch
from exporters.types import GraphlapError, Reference, axes_key, load_reference
from runtimes import registry
from runtimes.base import Arrays, Lane, Runtime, Session, Unavailable
from runtimes.execution import AfterCompletion, Execution
from runtimes.faults import NotAvailable, Unsupported
from runtimes.options import all_options, sessions_of
from runtimes.session.call_option import CALL
from runtimes.session.precision import refuse_wider
from runtimes.session.several import compile_sessions

Tell = Callable[[dict[str, Any]], None]

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
"""A round that ends so is not recorded: it is measured again when the sweep is resumed."""

_NODES_NAMED = 5
# A median needs six samples; more than half a second of them tells nothing further.
_LEAST_SPANS, _MOST_SPANS, _SPANS_NS = 6, 1000, 0.5e9


def measure_round(job: MeasureJob, tell: Tell, stopped: Callable[[], bool]) -> RoundResult:
    """Run the round; every failure becomes a result with its status and reason."""
    this = _Round(job, tell, stopped)
    try:
        this.measure()
    except GraphlapError as error:
        this.note(status=error.status or "run_failed", reason=str(error))
    except MemoryError:
        reason = f"the host ran out of memory in {this.phase}: use a smaller batch"
        this.note(status="out_of_memory", reason=reason)
    except Exception as error:
        this.note(**_unexpected(error, this.phase))
    this.leave()
    return replace(this.result, phases_ms=this.phases_ms, rss_peak_mb=peak_rss_mb())


def _unexpected(error: Exception, phase: Phase) -> dict[str, Any]:
    """A disk that is full ends the sweep; anything else is a failure, named with its phase."""
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        reason = f"the samples could not be written: {error.strerror}; free space, then --resume"
        return {"status": "cancelled", "stop_reason": "disk_full", "reason": reason}
    traceback.print_exception(error, file=sys.stderr)
    first_line = (str(error).splitlines() or [""])[0]
    status: Status = "compile_failed" if phase in ("import", "compile") else "run_failed"
    return {
        "status": status,
        "reason": f"{phase} failed with {type(error).__name__}: {first_line}",
    }


@dataclass(slots=True)
class _Round:
    """A round in the making; `tell` sends an event to the parent."""

    job: MeasureJob
    tell: Tell
    stopped: Callable[[], bool]
    result: RoundResult = field(init=False)
    phases_ms: dict[str, float] = field(default_factory=dict)
    phase: Phase = "import"
    _entered_ns: int = 0

    def __post_init__(self) -> None:
        environment = describe_round(self.job.settings.threads)
        self.result = RoundResult(
            case_id=self.job.case_id,
            round=self.job.round,
            status="ok",
            started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            environment=environment,
            warnings=tuple(round_warnings(environment)),
        )

    def note(self, **facts: Any) -> None:
        """Add what has become known."""
        self.result = replace(self.result, **facts)

    def enter(self, phase: Phase) -> None:
        self.leave()
        self.phase, self._entered_ns = phase, time.perf_counter_ns()
        self.tell({"event": "phase", "phase": phase})

    def leave(self) -> None:
        if self._entered_ns:
            spent_ms = (time.perf_counter_ns() - self._entered_ns) / 1e6
            self.phases_ms[self.phase] = self.phases_ms.get(self.phase, 0.0) + spent_ms
            self._entered_ns = 0

    def measure(self) -> None:
        job = self.job
        self.enter("import")
        runtime = self._runtime()
        runtime.refuse(job.model, job.axes, job.settings)
        runtime.load()
        reference = load_reference(job.model.references[axes_key(job.axes)])
        self.enter("compile")
        with closing(compile_sessions(runtime, job.model, job.axes, job.settings)) as session:
            self.leave()
            self.phases_ms["compile"] -= session.execution.inspection_ms
            self._note_execution(session.execution)
            if session.execution.clock != "simulated":  # a card has one precision, and says so
                refuse_wider(job.model.precision, session.execution.precision, job.runtime)
            self.note(concurrency=len(session.lanes))
            for lane in reversed(session.lanes):
                lane.enter()
                lane.bind(reference.inputs)
            with _in_our_words(session):
                self.enter("first_inference")
                begun = time.perf_counter_ns()
                session.lanes[0].run()
                first_ns = float(time.perf_counter_ns() - begun)
                if session.execution.clock == "simulated":
                    self._simulate(session, reference)
                else:
                    self._time(session, reference, first_ns)
            peak_bytes = session.memory().device_peak_bytes
            if peak_bytes is not None:
                self.note(device_memory_peak_mb=peak_bytes / 2**20)
            self.enter("teardown")

    def _runtime(self) -> Runtime:
        runtime = registry.load(registry.parse_spec(self.job.runtime).name)
        state = runtime.availability()
        if isinstance(state, Unavailable):
            raise NotAvailable(state.reason, state.remedy)
        settings, cores = self.job.settings, len(self.result.environment["affinity"])
        sessions = sessions_of(runtime.options, settings.options)
        self.note(
            runtime_version=state.version,
            options=all_options(runtime.options, settings.options),
            warnings=(*self.result.warnings, *of_crowding(sessions, settings.threads, cores)),
        )
        return runtime

    def _note_execution(self, execution: Execution) -> None:
        """What really runs; a float node that the engine did not take makes it partial."""
        self.note(
            clock=execution.clock,
            boundary=execution.boundary,
            call_path=execution.call_path,
            execution_provider=execution.provider,
            precision=execution.precision,
            device_name=execution.device_name,
            facts=dict(execution.facts),
            warnings=(
                *self.result.warnings,
                *execution.warnings,
                *of_precision(self.job.model.precision, execution),
            ),
        )
        elsewhere = execution.elsewhere
        if elsewhere:
            named = [f"{n.op} {n.node!r} on {n.provider}" for n in elsewhere[:_NODES_NAMED]]
            more = len(elsewhere) - len(named)
            nodes = ", ".join(named) + (f" and {more} more" if more else "")
            self.note(
                status="partial",
                reason=f"not all of the graph ran on {execution.provider}: {nodes}",
                placement=tuple(asdict(node) for node in elsewhere),
            )

    def _time(self, session: Session, reference: Reference, first_ns: float) -> None:
        """Warm up, check, measure, check again; the collector rests while the clock runs."""
        job, sets = self.job, self._sets(reference)
        loop = self._loop(session, sets)
        path = f"{session.execution.call_path}, timed in {loop}"
        self.note(harness_floor_ns=harness_floor_ns(loop), call_path=path)
        gc.collect()
        gc.freeze()
        gc.disable()
        watch = Watch(self.result.environment["affinity"])
        with _new_file(Path(job.samples_path)) as file:
            with self._lanes(session.lanes, first_ns, sets) as lanes:
                sampler = Sampler(lanes, job.limits, file, watch, self._report, self.stopped)
                self.enter("warmup")
                warm = sampler.warm_up()
                self.note(
                    warmup_iterations=warm.iterations,
                    warmup_s=warm.seconds,
                    settled=warm.settled,
                )
                before = self._check(session, reference)
                self.enter("measure")
                measured = sampler.measure()
            self._note_interference(watch.told())
            if len(session.lanes) == 1:
                self._note_spans(session, warm.median_ns)
        gc.enable()
        self.note(
            samples=Path(job.samples_path).name,
            iterations=measured.iterations,
            duration_s=measured.duration_s,
            stop_reason=measured.stop_reason,
        )
        if warm.settled is False:
            warning = (
                f"no_steady_state: the medians still moved after {warm.seconds:.1f} s: "
                "use a quieter machine, or --profile standard"
            )
            self.note(warnings=(*self.result.warnings, warning))
        after = self._check(session, reference)
        self._note_check(after if before is None or before.output_ok else before)

    def _loop(self, session: Session, sets: Sequence[Arrays]) -> Loop:
        """Which loop times; Unsupported where the one that was asked for can't."""
        loop = loop_of(session.lanes[0], bool(self.job.model.states), sets)
        if loop != "C" and self.job.settings.options.get(CALL.name) == "c":
            raise Unsupported(
                f"{self.job.runtime} offers the loop in C no calls with these options and inputs",
                "use call=python",
            )
        return loop

    def _note_interference(self, told: Interference | None) -> None:
        """The clock while it was measured stands for the one that was read before."""
        self.note(interference=told)
        if told is not None and told.cpu_mhz_mean is not None:
            self.note(environment={**self.result.environment, "cpu_mhz": told.cpu_mhz_mean})

    def _lanes(self, lanes: tuple[Lane, ...], first_ns: float, sets: Sequence[Arrays]) -> Blocks:
        job, streaming = self.job, bool(self.job.model.states)
        if len(lanes) == 1:
            return OneLane(lanes[0], job.scenario, job.wait_policy, streaming, first_ns, sets)
        return SeveralLanes(lanes, job.scenario, job.wait_policy, streaming, first_ns, sets)

    def _sets(self, reference: Reference) -> list[Arrays]:
        """The inputs that are fed in turn, the reference's first; what is state is not fed."""
        model = self.job.model
        states = {pair.input for pair in model.states}
        files = model.rotation.get(axes_key(self.job.axes), ())
        sets = [reference.inputs, *(load_reference(file).inputs for file in files)] if files else []
        return [{n: a for n, a in one.items() if n not in states} for one in sets]

    def _note_spans(self, session: Session, typical_ns: float) -> None:
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
        self.note(facts={**self.result.facts, **medians})

    def _simulate(self, session: Session, reference: Reference) -> None:
        """Take the samples from the simulator; a graph it holds only in part has no latency."""
        job = self.job
        if job.model.rotation:
            raise Unsupported(
                "a simulated card takes as long whatever it is fed", "leave --rotate-inputs out"
            )
        check = self._check(session, reference)
        if self.result.status == "partial":
            # Without a timing that a wrong output could put in doubt, the nodes come first.
            self.note(check=check, stop_reason="partial")
            if check is not None and not check.output_ok:
                why = why_wrong(check, self.result.concurrency)
                self.note(warnings=(*self.result.warnings, why))
            return
        self._note_check(check)
        self.enter("measure")
        arrivals = AfterCompletion(job.limits.simulated_samples, round(job.scenario.gap_us * 1e3))
        samples = session.simulate(arrivals, np.random.default_rng(job.seed))
        records = np.zeros(len(samples.started_ns), dtype=RECORD)
        records["scheduled_ns"] = samples.scheduled_ns
        records["started_ns"] = samples.started_ns
        records["finished_ns"] = samples.finished_ns
        records["phase"] = MEASURED
        with _new_file(Path(job.samples_path)) as file:
            file.write(records.tobytes())
        latency_ns = np.sort(samples.latency_ns)
        p50_ns, p99_ns = (order_statistic(latency_ns, q) for q in (0.5, 0.99))
        self._report(Progress("measure", len(records), latency_ns.sum() / 1e9, p50_ns, p99_ns))
        self.note(
            # The cycles depend on the pacing, so they are known only now.
            facts=dict(session.execution.facts),
            samples=Path(job.samples_path).name,
            iterations=len(records),
            duration_s=float(samples.finished_ns[-1] - samples.scheduled_ns[0]) / 1e9,
            stop_reason="simulated",
        )

    def _check(self, session: Session, reference: Reference) -> Check | None:
        """None where there is nothing to compare with."""
        if self.job.model.uncompared:
            return None
        self.enter("correctness")
        inputs, expected, job = reference.inputs, reference.outputs, self.job
        return check_session(session, inputs, expected, job.model, job.tolerance)

    def _note_check(self, check: Check | None) -> None:
        """A wrong row keeps its timing and is marked."""
        if check is None:
            self.note(warnings=(*self.result.warnings, self.job.model.uncompared))
            return
        said = (*of_nans(check), *of_itself(check, self.job.runtime))
        self.note(check=check, warnings=(*self.result.warnings, *said))
        if not check.output_ok:
            reason = why_wrong(check, self.result.concurrency)
            self.note(status="wrong_output", reason=reason)

    def _report(self, progress: Progress) -> None:
        self.tell({"event": "progress", **asdict(progress)})


def _new_file(path: Path) -> BinaryIO:
    """A file of its own: a follower may have mapped what a round cut short left behind."""
    if path.is_file():
        path.unlink()
    return cast(BinaryIO, path.open("wb", buffering=0))


@contextmanager
def _in_our_words(session: Session) -> Iterator[None]:
    """`run` is the engine's own call and raises the engine's errors; the adapter knows them."""
    try:
        yield
    except (GraphlapError, OSError, MemoryError):
        raise
    except Exception as error:
        raise session.fault(error) from error
