"""Messages of a measuring process on its pipes as JSON lines: its job, its progress, its result.

The parent writes one `MeasureJob` line to the child's standard input; the child writes events to
its standard output, the last of them a `RoundResult`. A `stop` line, or the end of its input, asks
the child to finish the block in flight and end the round there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from app.cases.case import Case
from app.cases.process_settings import ProcessSettings
from app.cases.status import TRIED_AGAIN, Status
from app.cases.telemetry import Interference, Surroundings
from app.cases.turns import TurnSeat
from exporters.codec import NON_FINITE
from exporters.diagnostics import Diagnostic
from exporters.types import Disagreement, ExportedModel, Silence
from runtimes.execution import Boundary, Clock
from runtimes.options import OptionValue, Settings

TIMED_IN = ", timed in "
"""In a row's `call_path`, between the engine's call and the loop around it: `C` or `Python`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a round is; the percentiles are the running ones, None while unknown."""

    phase: str
    iterations: int
    elapsed_s: float
    p50_ns: float | None
    p99_ns: float | None


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Of `due` requests `left` were not begun when the round ended.

    `schedule_sha256` names the times of those that are counted (`app.stats.open_loop`). It took
    `seconds` until the last one was answered, at least as long as the schedule is.
    `utilisation` is the share of the lanes' time that the requests of the asked rate need: from
    1 on they come faster than they can be answered. The first `start_requests`, of `start_s`, are
    not counted: they bring the queue into its steady state.
    """

    schedule_sha256: str
    due: int
    left: int
    seconds: float
    utilisation: float
    start_requests: int = 0
    start_s: float = 0.0

    @property
    def overloaded(self) -> bool:
        return self.left > 0 or self.utilisation >= 1.0


@dataclass(frozen=True, slots=True)
class NeighbourJob:
    """A model at the sizes that it has, on the runtime of the measured one, in one session."""

    model: ExportedModel
    runtime: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many runs one after another, on the clock that all processes of a machine share."""

    begun_ns: int
    ended_ns: int
    runs: int


@dataclass(frozen=True, slots=True)
class NeighbourResult:
    """What it did until it was told to end; `reason` says why it could do nothing."""

    stretches: tuple[Stretch, ...] = ()
    status: Status = "ok"
    reason: str = ""


RUNTIME = "imported"
"""What the runtimes of such cases are called, with the program behind a colon."""


@dataclass(frozen=True, slots=True)
class Imported:
    """`program` wrote `file`, of this `sha256`; its `version` is empty where the file tells none.

    `clock` says what it read, `boundary` what lies between the two readings. `figures` are what
    the program states or would print of these runs, by the names of columns; `calls` is how many
    calls a sample is the mean of.
    """

    program: str
    version: str
    file: str
    sha256: str
    clock: str
    boundary: str
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    calls: int = 1

    @property
    def program_text(self) -> str:
        """`pyperf 2.9.0`."""
        return f"{self.program} {self.version}".strip()


def is_imported(runtime: str) -> bool:
    """Whether a case's runtime stands for another program."""
    return runtime.partition(":")[0] == RUNTIME


Phase = Literal[
    "import", "compile", "first_inference", "warmup", "correctness", "measure", "teardown"
]
RECORD = np.dtype(
    [
        ("scheduled_ns", "<i8"),
        ("started_ns", "<i8"),
        ("finished_ns", "<i8"),
        ("phase", "<i4"),  # 0 warm-up, 1 measured, 2 the first run of a shape
        ("lane", "<i2"),  # which of several runs in flight, or of several shapes; else 0
        ("set", "<i2"),  # which of the sets of inputs that are fed in turn; else 0
    ]
)
"""One record of a `samples/<case>.<round>.bin` file."""

WARMUP, MEASURED, FIRST_OF_SHAPE = 0, 1, 2
AWAITING = "awaiting"
"""The event of a round that was measured before its reference was there: it has kept its outputs
and waits for the model with references, as a line `{"model": …}`."""
SETS = "input_sets"
"""The fact of a round in which so many sets of the user's own were fed in turn: records tell each
run's."""
SUSPENDED = "slept"
"""Why a round stopped in which the machine was asleep: it does not count."""


def latency_ns(records: np.ndarray, from_schedule: bool = False) -> np.ndarray:
    """What a user waits, of each record [n]: to the end, from its start.

    `from_schedule`: from when it was due, as in an open loop, whose users do not wait for each
    other's answers before they ask.
    """
    starts = records["scheduled_ns" if from_schedule else "started_ns"]
    latency: np.ndarray = records["finished_ns"] - starts
    return latency


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a round lasts: the part of a profile that the measuring process needs.

    A round ends after `min_s` and `min_samples`, at the latest after `max_s`: how sure a figure
    is, rounds decide, and not the runs of one. Warm-up is followed in windows of `window_s`, of
    which ten must agree; with a `warmup_max_s` of 0 there is none. Simulated sessions give exactly
    `simulated_samples`. Outputs are checked in runs of their own before and after, or without
    `has_check_runs` once, as the last measured run left them, where a model has no state.

    In turns one of few runs takes `slow_s`, a group `slow_s` or `max_s` for each seat.
    """

    min_s: float = 1.0
    max_s: float = 10.0
    min_samples: int = 368
    window_s: float = 0.05
    warmup_min_s: float = 0.2
    warmup_max_s: float = 3.0
    warmup_min_iterations: int = 20
    simulated_samples: int = 10_000
    has_check_runs: bool = True

    @property
    def slow_s(self) -> float:
        return 4.0 * self.min_s

    def longest_s(self, seats: int) -> float:
        """After which a group of so many needs no more turns."""
        return seats * max(self.max_s, self.slow_s)


@dataclass(frozen=True, slots=True)
class MeasureJob:
    """One round of `case`, with everything resolved.

    `axes` fixes every axis of the model; `samples_path` is created or truncated; `seed`
    draws jitter and whatever else is random in this round, `arrivals_seed` when requests of an
    open loop come: the same for all cases, so that they meet the same ones. `asked` is the
    plan, of which the process gets what it reads. `affinity` are the cores to run on, () for any;
    `shared` says that the batch process could not leave those that were chosen. `batches` are the
    model at each size of the `batcher`, ascending, `shapes` all axes of each shape that the one
    session serves. With `awaits_reference` the model has inputs alone, and its outputs are checked
    after the round. With a `seat` it is measured in turns with others. `is_reusable`: its process
    waits for another job.
    """

    case: Case
    round: int
    model: ExportedModel
    axes: Mapping[str, int]
    settings: Settings
    limits: Limits
    seed: int
    samples_path: str
    asked: ProcessSettings = field(default_factory=ProcessSettings)
    affinity: tuple[int, ...] = ()
    shared: bool = False
    arrivals_seed: int = 0
    batches: tuple[ExportedModel, ...] = ()
    neighbour: NeighbourJob | None = None
    shapes: tuple[Mapping[str, int], ...] = ()
    awaits_reference: bool = False
    seat: TurnSeat | None = None
    is_reusable: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Outputs against a reference: error is max|a-b| / max|b|, the worst output's.

    `reference` is the first that the outputs agree with, else the nearest; `references` are all,
    `agrees_with` those that they agree with, `missing` why others could not be had. With
    `only_own` they agree with nothing but what the runtime's own engine computed; with `disputed`
    references contradict them, and none is known to be wrong. `unequal` is the share of its
    elements that differ, where it is to be equal, `nans` are the outputs that hold NaN where the
    reference does. `lane` is the one of several that had it, `batch` the one of a batcher's, 0
    without one, and `shape` the sizes where there are several. `slice` is the part of the output
    that is farthest off by its own scale, `slice_error` that distance (`exporters/agreement.py`),
    and `slices_lost` the largest share of slices along an axis that are lost. `silent` are the
    outputs that confirm nothing, and why.
    """

    reference: str
    max_abs_error: float = field(metadata=NON_FINITE)
    max_rel_error: float = field(metadata=NON_FINITE)
    cosine: float = field(metadata=NON_FINITE)
    tolerance: float
    output_ok: bool
    worst_output: str = ""
    lane: int = 0
    unequal: float | None = None
    nans: tuple[str, ...] = ()
    batch: int = 0
    shape: str = ""
    references: tuple[str, ...] = ()
    agrees_with: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    only_own: bool = False
    disputed: bool = False
    slice: str = ""
    slice_error: float = field(default=0.0, metadata=NON_FINITE)
    slices_lost: float = 0.0
    silent: Mapping[str, Silence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoundResult:
    """How one round ended: one line of the journal.

    `placement` lists only the nodes that the engine did not take. A round without samples
    (a failure, or an availability told beforehand) has `samples` empty. `options` are all
    of the runtime's with the values that held, the defaults among them. `concurrency` is how
    many runs were in flight at once: the lanes of its session. `interference` is None where
    nothing was timed on this machine, `open_loop` for a round that is none. `engine_path` is the
    file that was loaded as the engine, `engine_distribution` the installed package that it is of.
    `imported` says who measured the round, where another program did.
    `samples_crc32` is the checksum of the samples' file as it was written, `readings_crc32` the
    same of the devices' readings. `attempt` counts from 1 how often the case was begun: one whose
    host was lost begins again on another. `model_sha256` is the graph that was measured.
    `transient`: circumstances made it fail, such as a missing file or too little memory beside
    other processes, and not the case.
    """

    case_id: str
    round: int
    status: Status
    reason: str = ""
    valid: bool = True
    warnings: tuple[Diagnostic, ...] = ()
    started_at_utc: str = ""
    phases_ms: Mapping[str, float] = field(default_factory=dict)
    samples: str = ""
    iterations: int = 0
    duration_s: float = 0.0
    warmup_iterations: int = 0
    warmup_s: float = 0.0
    settled: bool | None = None
    stop_reason: str = ""
    clock: Clock = "wall"
    boundary: Boundary = "host"
    call_path: str = ""
    execution_provider: str = ""
    precision: str = ""
    runtime_version: str = ""
    device_name: str = ""
    harness_floor_ns: float | None = None
    check: Check | None = None
    facts: Mapping[str, float | int | str] = field(default_factory=dict, metadata=NON_FINITE)
    placement: tuple[Mapping[str, Any], ...] = ()
    rss_peak_mb: float | None = None
    device_memory_peak_mb: float | None = None
    environment: Surroundings = field(default_factory=Surroundings)
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    concurrency: int = 1
    interference: Interference | None = None
    open_loop: OpenLoop | None = None
    engine_distribution: str = ""
    engine_path: str = ""
    imported: Imported | None = None
    samples_crc32: int | None = None
    attempt: int = 1
    model_sha256: str = ""
    transient: bool = False
    readings_crc32: int | None = None

    @property
    def is_tried_again(self) -> bool:
        """Whether a resume measures this round again: its end says nothing of the case."""
        return self.transient or self.status in TRIED_AGAIN


FORKED = "forked"
"""The fact of a round whose process is a fork of a template."""


def serves_more(job: MeasureJob, result: RoundResult) -> bool:
    """Whether the process of a round takes another job: nothing that it has done before touches a
    simulated clock."""
    return job.is_reusable and result.clock == "simulated" and result.status == "ok"
