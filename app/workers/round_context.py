"""A round under way: its job, the phase that it is in, and what has become known of it so far."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from app.cases.round import Check, MeasureJob, Phase, Progress, RoundResult
from app.machine.own_memory import anonymous_memory
from app.workers.batcher import parts
from app.workers.conditions import describe_round
from app.workers.execution_facts import (
    output_diagnostics,
    reference_diagnostics,
    saturation_note,
)
from app.workers.lanes import fed
from app.workers.output_check import (
    check_lanes,
    check_outputs,
    mismatch_text,
    outputs_of,
    worst,
)
from app.workers.process import peak_rss_mb
from exporters.diagnostics import Diagnostic
from exporters.types import ExportedModel, Reference
from runtimes.base import Arrays, Session
from runtimes.cuda import nvtx

Tell = Callable[[dict[str, Any]], None]
_BLOCK_BYTES = 2**20


class _WholeWrites(FileIO):
    """A file without a buffer, so that a follower sees each block: all of it, or an OSError."""

    def write(self, block: bytes) -> int:  # type: ignore[override]
        """The system may take a part, without an error, where a disk or a limit is reached."""
        written = 0
        while written < len(block):
            written += super().write(block[written:])
        return written


@dataclass(slots=True)
class RoundContext:
    """A round in the making; `tell` sends an event to the parent."""

    job: MeasureJob
    tell: Tell
    stopped: Callable[[], bool]
    placing: Sequence[Diagnostic] = ()
    result: RoundResult = field(init=False)
    phases_ms: dict[str, float] = field(default_factory=dict)
    phase: Phase = "import"
    kept_outputs: list[Sequence[Arrays]] = field(default_factory=list)
    """Of each check whose reference is awaited, the outputs of each lane."""
    memory_before: Mapping[int, int] = field(default_factory=anonymous_memory)
    """This process's own memory as the round began, which a fork has in common with others."""
    _entered_ns: int = 0

    def __post_init__(self) -> None:
        environment = describe_round(self.job.settings.threads)
        self.result = RoundResult(
            case_id=self.job.case.case_id,
            round=self.job.round,
            status="ok",
            started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            environment=environment,
            warnings=tuple(self.placing),
            model_sha256=self.job.model.sha256,
        )

    def note(self, **facts: Any) -> None:
        """Add what has become known."""
        self.result = replace(self.result, **facts)

    def warn(self, *diagnostics: Diagnostic) -> None:
        """Add to the round's diagnostics."""
        self.note(warnings=(*self.result.warnings, *diagnostics))

    def use_model(self, model: ExportedModel) -> None:
        """Go on with the model as it was exported with its references."""
        self.job = replace(self.job, model=model, awaits_reference=False)

    def enter(self, phase: Phase) -> None:
        self.leave()
        nvtx.begin(phase)
        self.phase, self._entered_ns = phase, time.perf_counter_ns()
        self.tell({"event": "phase", "phase": phase})

    def leave(self) -> None:
        if self._entered_ns:
            spent_ms = (time.perf_counter_ns() - self._entered_ns) / 1e6
            self.phases_ms[self.phase] = self.phases_ms.get(self.phase, 0.0) + spent_ms
            self._entered_ns = 0
            nvtx.end()

    def current_result(self) -> RoundResult:
        """What is known by now, times and memory included."""
        return replace(self.result, phases_ms=dict(self.phases_ms), rss_peak_mb=peak_rss_mb())

    def report(self, progress: Progress) -> None:
        self.tell({"event": "progress", **asdict(progress)})

    def samples_file(self) -> BinaryIO:
        """The job's, anew: a follower may have mapped what a round cut short left behind."""
        path = Path(self.job.samples_path)
        if path.is_file():
            path.unlink()
        return cast(BinaryIO, _WholeWrites(path, "wb"))

    def note_samples(self, iterations: int, **facts: Any) -> None:
        """Tell of the samples once they are all written; a reader knows them by their checksum."""
        path = Path(self.job.samples_path)
        checksum = 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):  # the process's peak of memory is told too
                checksum = zlib.crc32(block, checksum)
        self.note(samples=path.name, samples_crc32=checksum, iterations=iterations, **facts)

    def check(self, session: Session, reference: Reference) -> Check | None:
        """None where there is nothing to compare with; while that is awaited, outputs are kept."""
        if self.job.awaits_reference:
            self.enter("correctness")
            outputs = outputs_of(session.lanes, reference.inputs)
            copies = [{name: array.copy() for name, array in item.items()} for item in outputs]
            self.kept_outputs.append(copies)
            return None
        if self.job.model.uncompared:
            return None
        self.enter("correctness")
        model, tolerance, runtime = self.job.model, self.job.asked.tolerance, self.job.case.runtime
        if session.by_shape:
            precision = session.execution.precision
            return worst(
                replace(
                    check_lanes((lane,), precision, expected, model, tolerance, runtime),
                    shape=shape,
                )
                for shape, lane, expected in fed(session, self.job)
            )
        return worst(
            replace(
                check_lanes(
                    item.lanes, item.execution.precision, expected, model, tolerance, runtime
                ),
                batch=batch,
            )
            for batch, item, expected in parts(session, reference, self.job)
        )

    def check_last_run(self, session: Session, reference: Reference) -> Check | None:
        """The outputs that the lanes have from their last run, of a session of one shape; None
        where there is nothing to compare with."""
        model = self.job.model
        if model.uncompared:
            return None
        self.enter("correctness")
        outputs = [lane.outputs() for lane in session.lanes]
        precision = session.execution.precision
        return check_outputs(
            outputs, precision, reference, model, self.job.asked.tolerance, self.job.case.runtime
        )

    def note_check(self, check: Check | None) -> None:
        """A wrong row keeps its timing and is marked."""
        if check is None:
            if self.job.model.uncompared is not None:
                self.warn(self.job.model.uncompared)
            return
        self.note(check=check)
        self.warn(*output_diagnostics(check), *reference_diagnostics(check))
        if not check.output_ok:
            reason = mismatch_text(check, self.result.concurrency)
            reason += saturation_note(check, self.job.model, self.job.case.runtime)
            self.note(status="wrong_output", reason=reason)
