"""The families of columns that a row is made of: which names each writes, and from what.

A column is written by one family. One that replaces values of earlier families, as those of a row
that another program measured, declares them as revised. A test holds the declarations against the
table of columns and against what the families return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from app.cases.batcher_columns import BATCHER
from app.cases.case import Case
from app.cases.cold_columns import COLD_START
from app.cases.column import Column, Row
from app.cases.columns import NAMES
from app.cases.condition_columns import CONDITION
from app.cases.imported_columns import IMPORTED
from app.cases.late_columns import LATE
from app.cases.latency_columns import BASELINE, LATENCY
from app.cases.load_columns import LOAD
from app.cases.null_columns import NULL
from app.cases.pattern_columns import PATTERNS
from app.cases.placing_columns import PLACING
from app.cases.round import RoundResult
from app.cases.scaling_columns import SCALING
from app.cases.shape_columns import SHAPES
from app.plan.plan import Plan
from app.results.cells import joined
from app.results.cold_start import cold_columns
from app.results.conditions import gap_columns, inputs_fed
from app.results.diagnostic_columns import diagnostic_columns
from app.results.ended import ended_columns
from app.results.gpu import gpu_columns
from app.results.graphs import without_intervals
from app.results.imported import imported_columns
from app.results.known import known_columns
from app.results.latency import latency_columns
from app.results.load import load_columns
from app.results.of_rounds import FACTS, round_columns
from app.results.placing import placing_columns
from app.results.ratios import ratio_columns
from app.results.row_diagnostics import accuracy_warnings, row_diagnostics, warned_columns
from app.results.run import Run
from app.results.stopping import ended_by
from app.results.throughput import block_columns, throughput_columns
from app.stats.precise import LOOKED
from app.stats.summary import Summary
from app.stats.throughput import Rate
from exporters.diagnostics.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The values of those families that took reading the samples of all timed rounds."""

    devices: Row = field(default_factory=dict)
    interference: Row = field(default_factory=dict)
    deadline: Row = field(default_factory=dict)
    batcher: Row = field(default_factory=dict)
    sustained: Row = field(default_factory=dict)
    shapes: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseData:
    """What the columns of one case are computed from.

    `rounds` may be none; so many are `planned`. `summary` and `blocks` are statistics of the timed
    rounds, None where there are none of the kind, `disturbed` what their outliers coincide with.
    """

    run: Run
    case: Case
    plan: Plan
    rounds: Sequence[RoundResult] = ()
    planned: int = 0
    summary: Summary | None = None
    blocks: Rate | None = None
    disturbed: Sequence[Diagnostic] = ()
    of_samples: SampleColumns = field(default_factory=SampleColumns)


Fill = Callable[[CaseData, Row], Row]
"""The values of a family from the case and the row so far."""


@dataclass(frozen=True, slots=True)
class Family:
    """`columns` are the names that it alone writes, `revises` those whose values it may replace.

    `unmeasured`: it has columns for a case without rounds too.
    """

    name: str
    columns: frozenset[str]
    fill: Fill
    revises: frozenset[str] = frozenset()
    unmeasured: bool = False


def fill_row(data: CaseData, row: Row) -> None:
    """Give a row the values of all families; of a case without rounds those that it has."""
    for family in FAMILIES:
        if data.rounds or family.unmeasured:
            row.update(family.fill(data, row))


def _names(columns: Iterable[Column]) -> frozenset[str]:
    return frozenset(column.name for column in columns)


def _throughput(data: CaseData, row: Row) -> Row:
    if data.blocks is not None:
        return block_columns(data.blocks, row["batch_size"])
    return throughput_columns(data.case, data.summary, row) if data.summary else {}


def _stopping(data: CaseData, row: Row) -> Row:
    """Of a plan that adds rounds until intervals are narrow."""
    rule = data.plan.stopping
    if rule is None or data.summary is None:
        return {}
    reasons = (*(one.stop_reason for one in data.rounds), ended_by(rule, data.rounds, data.summary))
    return {"stop_reason": joined(reasons), "ci_method": LOOKED if row["ci_method"] else None}


def _accuracy(data: CaseData, _: Row) -> Row:
    accuracy = data.run.accuracy_of(data.case)
    return {} if accuracy is None else {"accuracy_top1": accuracy.top1}


def _inputs_fed(data: CaseData, _: Row) -> Row:
    if data.summary is None:
        return {}
    model = data.run.model_of(data.case)
    return {"input_sets": inputs_fed(data.case, model, data.rounds[-1].clock)}


def _diagnostics(data: CaseData, row: Row) -> Row:
    run, case, rounds = data.run, data.case, data.rounds
    if not rounds:
        return diagnostic_columns(accuracy_warnings(run, case))
    found = row_diagnostics(
        run,
        case,
        rounds,
        data.planned,
        data.summary,
        data.disturbed,
        data.plan.stopping,
        row,
    )
    return warned_columns(tuple(found), row)


def _mixed_graphs(data: CaseData, row: Row) -> Row:
    return without_intervals(row) if len(data.run.graphs_of(data.case)) > 1 else {}


_THROUGHPUT = frozenset({"throughput_per_s", "throughput_ci_low_per_s", "throughput_ci_high_per_s"})
_OF_TIMED_ROUNDS = {"compile_ms", "first_inference_ms", "harness_overhead_ns"}
_RATIOS = frozenset({"max_to_p50_ratio", "throughput_per_s_per_kw"})
_GPU_SETTINGS = frozenset(
    {
        *("gpu_uuid", "gpu_driver", "gpu_link", "gpu_power_limit_w", "gpu_clock_limit_mhz"),
        *("gpu_persistence", "gpu_ecc", "gpu_mig"),
    }
)
_INTERVALS = frozenset(name for name in NAMES if "_ci_" in name or name == "ci_method")

FAMILIES = (
    Family(
        "identity",
        frozenset(
            {
                *("schema_version", "graphlap_version", "run_id", "case_id", "host"),
                *("started_at_utc", "seed", "suite", "model", "family", "layers", "width"),
                *("parameters", "parameters_with_buffers", "macs", "model_sha256", "opset"),
                *("batch_size", "sequence_length", "axes", "assumed_sizes", "inputs_drawn"),
                *("runtime", "device", "user_files", "options", "precision_requested", "threads"),
                *(
                    "scenario",
                    "gap_us",
                    "offered_rate_hz",
                    "burst_size",
                    "burst_period_us",
                    "condition",
                ),
                *("wait_policy", "batcher", "preset"),
                *("environment", "engine_distribution", "engine_path"),
            }
        ),
        lambda data, _: known_columns(data.run, data.case, data.rounds, data.plan),
        unmeasured=True,
    ),
    Family(
        "ending",
        frozenset({"status", "valid", "reason"}),
        lambda data, _: ended_columns(data.rounds, data.run.damaged.get(data.case.case_id, {})),
        unmeasured=True,
    ),
    Family(
        "cold starts",
        _names(COLD_START),
        lambda data, _: cold_columns(data.run, data.case),
        unmeasured=True,
    ),
    Family("accuracy", frozenset({"accuracy_top1"}), _accuracy, unmeasured=True),
    Family(
        "rounds",
        frozenset(
            {
                *("concurrency", "runtime_version", "execution_provider", "device_name"),
                *("precision", "clock", "call_path", "boundary", "rounds"),
                *("warmup_iterations", "warmup_s", "steady_state", "stop_reason", "iterations"),
                *("duration_s", "rss_peak_mib", "device_memory_peak_mib"),
                *("reference", "references", "agreeing_references", "only_own_reference"),
                *("reference_disagreement", "max_abs_error", "max_rel_error", "cosine_similarity"),
                *("tolerance", "output_ok", *_OF_TIMED_ROUNDS, *FACTS),
            }
        ),
        lambda data, _: round_columns(data.rounds),
    ),
    Family(
        "devices",
        frozenset(
            {
                *("energy_mj_per_inference", "power_w", "gpu_clock_mhz", "throttle_reasons"),
                *(
                    "gpu_clock_min_mhz",
                    "gpu_clock_max_mhz",
                    "gpu_memory_clock_mhz",
                    "gpu_other_processes",
                ),
            }
        ),
        lambda data, _: data.of_samples.devices,
    ),
    Family(
        "interference",
        frozenset(
            {
                *("load_1min", "steal_fraction", "involuntary_switches_per_s", "page_faults_per_s"),
                *(
                    "interrupts_per_s",
                    "cpu_clock_min_mhz",
                    "cpu_clock_max_mhz",
                    "cpu_temperature_c",
                ),
                "outlier_causes",
            }
        ),
        lambda data, _: data.of_samples.interference,
    ),
    Family("deadline", _names(LATE), lambda data, _: data.of_samples.deadline),
    Family("batcher", _names(BATCHER) - {"batcher"}, lambda data, _: data.of_samples.batcher),
    Family("sustained", _names(CONDITION) - {*FACTS}, lambda data, _: data.of_samples.sustained),
    Family("shapes", _names(SHAPES), lambda data, _: data.of_samples.shapes),
    Family("load", _names(LOAD), lambda data, _: load_columns(data.rounds, data.summary)),
    Family("placing", _names(PLACING), lambda data, _: placing_columns(data.rounds)),
    Family("GPU settings", _GPU_SETTINGS, lambda data, _: gpu_columns(data.rounds)),
    Family(
        "latency",
        (_names(LATENCY) - _THROUGHPUT - _OF_TIMED_ROUNDS - _RATIOS - {*FACTS})
        | _names(PATTERNS)
        | {"drift", "outliers"},
        lambda data, _: latency_columns(data.case, data.summary) if data.summary else {},
    ),
    Family("throughput", _THROUGHPUT, _throughput),
    Family("ratios", _RATIOS, lambda data, row: ratio_columns(row) if data.summary else {}),
    Family(
        "pauses",
        frozenset({"achieved_gap_p50_us", "achieved_gap_p99_us"}),
        lambda data, _: gap_columns(data.case, data.summary) if data.summary else {},
    ),
    Family("inputs fed", frozenset({"input_sets"}), _inputs_fed),
    Family("stopping", frozenset(), _stopping, frozenset({"stop_reason", "ci_method"})),
    Family(
        "diagnostics",
        frozenset({"warnings", "warning_codes", "diagnostics"}),
        _diagnostics,
        frozenset({"valid", "reason"}),
        unmeasured=True,
    ),
    Family(
        "imported",
        _names(IMPORTED),
        lambda data, row: imported_columns(data.rounds, row),
        frozenset(NAMES),  # another program's file may state any figure
    ),
    Family("mixed graphs", frozenset(), _mixed_graphs, _INTERVALS),
)
"""In the order in which they fill a row. Those in `ACROSS_CASES` follow."""
ACROSS_CASES = {
    "baseline": _names(BASELINE),
    "null twin": _names(NULL),
    "scaling": _names(SCALING),
}
"""The columns of families that compare cases of a run with each other."""
