"""Messages of accuracy, checking, cold start and operator processes as JSON lines on their pipes.

The parent writes one job line; the child writes its events, a `result` event last.

A check is a round that is over once the engine has compiled: so it is kept, resumed and shown as
rounds are, and has no timings.

In a cold start a fresh process imports its engine, compiles one case, runs it once and ends. A
round compiles and runs first too, but a handful of rounds are no distribution; these are
processes for nothing else, after the rounds, so that they share no moment with a clock.

Profilers slow down what they look at, so the times of a case's operators are asked for in a
process of its own, after the timed rounds, and none of them is ever a latency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.cases.case import Case
from app.cases.scenario import CLOSED_LOOP, NO_CONDITION, Scenario
from exporters.types import ExportedModel
from runtimes.execution import Clock, OpTime
from runtimes.options import SESSIONS, Settings
from runtimes.registry import parse_spec, release_of


def settings_of(case: Case, cache_dir: str = "", operator_times: bool = False) -> Settings:
    """What `case` asks of its runtime; with `operator_times`, of a session that tells them.

    `cache_dir` is where the engine may keep what it compiled, empty for nowhere.
    """
    spec = parse_spec(case.runtime)
    return Settings(
        precision=case.precision,
        threads=case.threads,
        device=spec.device,
        release=release_of(case.runtime),
        options=case.options,
        cache_dir=cache_dir,
        operator_times=operator_times,
    )


BATCH = 64
"""Accuracy is measured at this batch where the graph's batch is open."""


def subject_of(case: Case, model: ExportedModel) -> Case:
    """The case with all that can't change an output at its default: one accuracy for each.

    What is left is the model in its precision, the runtime with its options but for how many
    sessions run at once, and the sizes of the axes beside the batch, which is `BATCH`.
    """
    axes = dict(case.axes)
    if isinstance(model.batch, str):
        axes[model.batch] = BATCH
    options = {name: value for name, value in case.options.items() if name != SESSIONS.name}
    return replace(
        case,
        axes=axes,
        threads=0,
        options=options,
        scenario=Scenario(),
        wait_policy="spin",
        batcher=None,
        condition=NO_CONDITION,
        suite="",
    )


@dataclass(frozen=True, slots=True)
class AccuracyJob:
    """One subject on one set of labelled data; `data` is a folder, archive or
    table of them.

    `cache_dir` is where engines are kept."""

    subject: Case
    model: ExportedModel
    data: str
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """`top1` is the share of `images` whose largest output is their label.

    `subject` is the subject's case id. `top1` is None where it could not be measured, and
    `reason` is then one sentence. `transient`: circumstances made it fail, so that a resume
    measures it again.
    """

    subject: str
    data: str
    top1: float | None = None
    images: int = 0
    batch_size: int = 0
    reason: str = ""
    transient: bool = False
    number = 0


@dataclass(frozen=True, slots=True)
class CheckJob:
    """The case that is to be compiled, its model, and where engines are kept."""

    case: Case
    model: ExportedModel
    cache_dir: str = ""

    @property
    def settings(self) -> Settings:
        """As a round would compile it."""
        return settings_of(self.case, self.cache_dir)


PageCache = Literal["warm", "dropped"]
PHASES = ("process", "import", "compile", "first_inference")
"""In their order: from the process's start until it had its job (the interpreter, numpy), the
engine's own import, the graph's compilation, the first run."""
SCOUT = -1
"""The number of a process that only brings the files in and tells which they are."""


def cold_start_subject_of(case: Case) -> Case:
    """The case with all that matters only to later runs at its default: one distribution each."""
    return replace(
        case,
        scenario=CLOSED_LOOP,
        wait_policy="spin",
        batcher=None,
        condition=NO_CONDITION,
        suite="",
    )


@dataclass(frozen=True, slots=True)
class ColdStartJob:
    """One process of a subject.

    `begun_ns` is when it was started, by this machine's monotonic clock. `dropped` are the files
    that the system is to have forgotten before the engine is imported. `cache_dir` is where
    engines are kept; what an engine keeps there of a graph, it does not compile again.
    """

    subject: Case
    process: int
    model: ExportedModel
    begun_ns: int
    affinity: tuple[int, ...] = ()
    dropped: tuple[str, ...] = ()
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """How one process went. `subject` is the subject's case id; times by phase, in milliseconds.

    `kept_share` is how much of the files that were to be forgotten was still in memory, None
    where none were. `files` are those that the process used, told by a scout alone. Without a
    first inference `reason` is one sentence. `transient`: circumstances made it fail, so that a
    resume starts it again.
    """

    subject: str
    process: int
    phases_ms: Mapping[str, float] = field(default_factory=dict)
    kept_share: float | None = None
    files: tuple[str, ...] = ()
    reason: str = ""
    transient: bool = False

    @property
    def number(self) -> int:
        return self.process

    @property
    def total_ms(self) -> float:
        """From the process's start to its first answer: the phases together."""
        return sum(self.phases_ms.values())


@dataclass(frozen=True, slots=True)
class OperatorJob:
    """The case whose operators are to be told, its model, and where engines are kept."""

    case: Case
    model: ExportedModel
    cache_dir: str = ""

    @property
    def settings(self) -> Settings:
        """How the case is compiled, for a session that tells."""
        return settings_of(self.case, self.cache_dir, operator_times=True)


@dataclass(frozen=True, slots=True)
class SensitivityJob:
    """The case, and the axes and inputs of which the assumed values are doubled one by one, as far
    as there is time. `cache_dir` is where engines are kept."""

    case: Case
    model: ExportedModel
    names: tuple[str, ...]
    budget_s: float
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """By the name of an axis or input how many times as long a run of this case takes with twice
    the value, None where the graph takes no other; `left_out` were not measured.

    `reason` is one sentence where a failure ended it. `transient`: circumstances made it fail.
    """

    case_id: str
    factors: Mapping[str, float | None] = field(default_factory=dict)
    left_out: int = 0
    reason: str = ""
    transient: bool = False
    number = 0

    @property
    def subject(self) -> str:
        return self.case_id


SUBJECTS: Mapping[type[Any], Callable[[Case, ExportedModel | None], Case | None]] = {
    AccuracyResult: lambda case, model: subject_of(case, model) if model is not None else None,
    ColdStart: lambda case, _: cold_start_subject_of(case),
    Sensitivity: lambda case, _: case,
}
"""By the kind of a result its subject: the case whose id cases share where they share a result.

Results of one `subject` have a `number`; those that are `transient` are measured again. One below 0
prepares the others.
"""
RESULTS: tuple[type[Any], ...] = tuple(SUBJECTS)


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that the host's cores or a GPU compute, and move while so many bytes are in use.

    On the host, what is in use decides from which cache it comes, or from memory; a GPU's figure is
    its memory's. `how` names the measurement, or the figures behind it.
    """

    flops_per_s: float
    bytes_per_s: float
    in_use_bytes: int
    how: str


@dataclass(frozen=True, slots=True)
class Operator(OpTime):
    """One node of the executed graph, with what it has to do.

    `macs` and `bytes_moved` are what the nodes of the file that it `holds` have to compute, and to
    read and write; `roof_us` is the least time that these peaks allow for it. None where that
    is not known.
    """

    macs: int | None = None
    bytes_moved: int | None = None
    roof_us: float | None = None

    @property
    def peak_share(self) -> float | None:
        """How much of what the host could do it reaches; above 1 where caches help."""
        return self.roof_us / self.time_us if self.roof_us and self.time_us else None


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """The median times of one case's operators over `runs` runs, in graph order.

    `run_us` is the median of these runs themselves, with all that the profiler adds; None
    where it was not timed. `peak` is the host's, None where it says nothing of these times.
    Without any operators, `reason` is one sentence. `transient`: circumstances made it fail, so
    that a resume asks for them again.
    """

    case_id: str
    clock: Clock = "wall"
    runs: int = 0
    ops: tuple[Operator, ...] = ()
    reason: str = ""
    run_us: float | None = None
    peak: Peak | None = None
    transient: bool = False

    @property
    def total_us(self) -> float:
        """All operators together, of which each has its share."""
        return sum(op.time_us for op in self.ops)

    @property
    def high_water(self) -> Operator | None:
        """The operator while which most memory was in use; None where the engine reports none."""
        measured_ops = [op for op in self.ops if op.peak_bytes]
        return max(measured_ops, key=lambda op: op.peak_bytes or 0) if measured_ops else None
