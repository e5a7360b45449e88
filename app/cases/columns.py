"""The columns of `results.csv`: one table that says of each all that anybody asks of it.

Units are in the names, empty means not measured. A new column is an entry here, or in the module
of its section, and a value from the function of its family (`app.columns.families`); the table in
the window, the console, the reader of CSV files and the page that documents them follow from it.
The functions stand there, since plans name columns too and compute nothing.
"""

from __future__ import annotations

from app.cases.column import (
    Column,
    count,
    flag,
    lower_better,
    number,
    section,
    text,
)
from app.cases.environment_columns import CONDITION, ENGINE, GPU, IMPORTED, PLACING
from app.cases.identity_columns import CASE, MODEL, RUN
from app.cases.latency_columns import BASELINE, LATE, LATENCY, PATTERNS
from app.cases.overhead_columns import CHECKING, COLD_START, NULL
from app.cases.serving_columns import BATCHER, LOAD, SCALING, SHAPES

_MEASURING = (
    text(
        "preset",
        "Preset",
        "The name of the preset: how long each round measures, and how many rounds.",
        family="identity",
    ),
    count("warmup_iterations", "Warm-up runs", "Runs before the measurement, of all rounds."),
    number("warmup_s", "Warm-up (s)", "s", "How long the rounds warmed up, together."),
    text(
        "drift",
        "Drift",
        "What the level did within the rounds: flat, or how it moved.",
        family="latency",
    ),
    text(
        "stop_reason",
        "Stopped by",
        "What ended the rounds: what a precise case had reached, the looks of a sequential one.",
    ),
    count(
        "iterations",
        "Samples",
        "Measured runs, of all rounds; of multistream its queries, of ahead its waits.",
        group="confidence",
    ),
    number("duration_s", "Measured (s)", "s", "How long the rounds measured, together."),
    number(
        "achieved_gap_p50_us",
        "Achieved gap p50 (µs)",
        "us",
        "The median of the pauses between two runs.",
        group="latency",
        family="pauses",
    ),
)
_RESOURCES = (
    lower_better(
        "device_memory_peak_mib",
        "Device memory (MiB)",
        "MiB",
        "The peak memory of the measuring process on the device.",
        family="rounds",
    ),
    lower_better(
        "rss_peak_mib",
        "Memory (MiB)",
        "MiB",
        "The peak memory of the measuring process on the host.",
        family="rounds",
    ),
    lower_better(
        "energy_mj_per_inference",
        "Energy (mJ)",
        "mJ",
        "Energy of the whole device for one run, whatever its batch.",
    ),
    number(
        "power_w",
        "Power (W)",
        "W",
        "Mean power of the whole device; empty for rounds of less than half a second.",
    ),
    lower_better(
        "energy_uncertainty",
        "Energy uncertainty",
        "",
        "How far energy and power may be off, as a share of them: by the steps of the counter at "
        "both ends of the time that was read, or by the mean that a reading of the power is.",
    ),
    number("gpu_clock_mhz", "GPU clock (MHz)", "MHz", "Median clock of the GPU."),
    text("throttle_reasons", "Throttle reasons", "What limited the device's clock, or none."),
)
_INTERFERENCE = (
    number("load_1min", "Load", "", "The highest load of the last minute when a round began."),
    number(
        "steal_fraction",
        "Steal",
        "",
        "The fraction of the usable cores' time that a hypervisor took.",
    ),
    number(
        "involuntary_switches_per_s",
        "Switches/s",
        "1/s",
        "How often a second the measuring process lost a core to another thread.",
    ),
    number("page_faults_per_s", "Faults/s", "1/s", "Its page faults, minor and major."),
    number("interrupts_per_s", "Interrupts/s", "1/s", "Interrupts of the whole machine."),
    number(
        "cpu_clock_min_mhz",
        "CPU clock from (MHz)",
        "MHz",
        "The lowest clock of the measuring core.",
    ),
    number(
        "cpu_clock_max_mhz", "CPU clock to (MHz)", "MHz", "The highest clock of the measuring core."
    ),
    number(
        "cpu_temperature_c",
        "CPU temperature (°C)",
        "C",
        "The highest temperature of the processor.",
    ),
    count(
        "outliers",
        "Outliers",
        "Runs more than 3 IQR above the third quartile of their round.",
        family="latency",
    ),
    text(
        "outlier_causes",
        "Outlier causes",
        "System events that coincide with outliers, with counts; unseen: none was recorded.",
    ),
)
_OUTPUT = (
    text(
        "reference",
        "Reference",
        "Who computed the outputs that the errors are of: the first reference that the outputs "
        "agree with, else the nearest.",
    ),
    text("references", "References", "All references of the model, and why it is without others."),
    text(
        "agreeing_references",
        "Agreeing references",
        "The references that the outputs agree with, within the tolerance.",
    ),
    flag(
        "only_own_reference",
        "Only own reference",
        "Whether right outputs agree with nothing but what the runtime's own engine computed.",
    ),
    flag(
        "output_disputed",
        "Output disputed",
        "Whether references contradict outputs that are not known to be wrong.",
    ),
    text(
        "reference_disagreement",
        "References disagree",
        "Which references differ by more than the graph's types allow, by how much, and the first "
        "node where ONNX's evaluator and ONNX Runtime do.",
    ),
    lower_better(
        "max_abs_error", "Absolute error", "", "The largest difference from the reference."
    ),
    lower_better(
        "max_rel_error",
        "Error",
        "",
        "The largest difference from the reference output, over its largest value.",
    ),
    lower_better(
        "slice_error",
        "Error of a slice",
        "",
        "Of the slice of the output, such as a channel, that is farthest off by its own scale: the "
        "root of its error energy over its signal energy; 0.5 are 6 dB.",
    ),
    number(
        "tolerance",
        "Tolerance",
        "",
        "The error that is allowed: from the types that the graph computes in, or as asked for.",
    ),
    flag(
        "output_ok",
        "Output right",
        "Whether the error is within the tolerance; empty where nothing was compared.",
        group="verdict",
    ),
    Column(
        "accuracy_top1",
        "number",
        "Top-1",
        "The share of labelled images that are answered rightly.",
        "",
        "higher",
        group="verdict",
        family="accuracy",
    ),
)
_CARD = (
    lower_better("cycles", "Cycles", "cycles", "Simulated clock cycles on the critical path."),
    lower_better(
        "io_us", "I/O (µs)", "us", "Simulated time of the transfers to and from the card."
    ),
    count("weight_tiles_used", "Tiles used", "Weight tiles of the card that the model takes."),
    count("weight_tiles_total", "Tiles", "Weight tiles that the card has."),
    count("activation_bytes", "Activations", "Bytes that the card holds between steps at most."),
    count("spilled_bytes", "Spilled", "Bytes of activations outside the card's chip."),
)
_ENDING = (
    text("status", "Status", "How the case ended; only ok is compared with other rows."),
    flag("valid", "Valid", "Whether the measurement kept its own protocol."),
    text("reason", "Reason", "Why the case failed or could not run, or is not valid."),
    text(
        "warnings",
        "Warnings",
        "Diagnostics of the case, as text: docs/diagnostics.md.",
        family="diagnostics",
    ),
    text(
        "warning_codes", "Warning codes", "Their codes, joined by semicolons.", family="diagnostics"
    ),
    text(
        "diagnostics",
        "Diagnostics",
        "The same as JSON: codes, subjects and figures.",
        group="other",
        family="diagnostics",
    ),
)

GROUPS: dict[str, tuple[Column, ...]] = {
    "The run": section("other", "identity", RUN),
    "The model": section("other", "identity", MODEL),
    "The case": section("other", "identity", CASE),
    "Engine": section("other", "identity", ENGINE),
    "Measurement": section("other", "rounds", _MEASURING),
    "Conditions": section("latency", "sustained", CONDITION),
    "Several shapes": section("latency", "shapes", SHAPES),
    "Placement": section("other", "placement", PLACING),
    "Latency and throughput": section("other", "latency", LATENCY),
    "Levels and stalls": section("other", "latency", PATTERNS),
    "Deadline": section("latency", "deadline", LATE),
    "Dynamic batcher": section("latency", "batcher", BATCHER),
    "Open-loop load": section("latency", "load", LOAD),
    "Comparison with the baseline": section("verdict", "baseline", BASELINE),
    "Call overhead": section("latency", "overhead", NULL),
    "Scaling": section("throughput", "scaling", SCALING),
    "Cold starts": section("latency", "cold_start", COLD_START),
    "Memory, energy and clocks": section("other", "devices", _RESOURCES),
    "GPU": section("other", "gpu_settings", GPU),
    "Interference": section("other", "interference", _INTERFERENCE),
    "Checks": section("verdict", "facts", CHECKING),
    "Outputs": section("other", "rounds", _OUTPUT),
    "The simulated card": section("other", "facts", _CARD),
    "Imported results": section("other", "imported", IMPORTED),
    "Outcome": section("verdict", "ending", _ENDING),
}
COLUMNS: tuple[Column, ...] = tuple(column for group in GROUPS.values() for column in group)
BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
MAIN: tuple[str, ...] = (
    *("model", "runtime", "case_id", "host", "device_name", "runtime_version", "precision"),
    *("batch_size", "sequence_length", "axes", "threads", "options", "concurrency", "scenario"),
    *("gap_us", "offered_rate_hz", "condition", "clock", "deadline_us", "status", "valid"),
    *("output_ok", "latency_min_us", "latency_mean_us", "latency_p50_us", "latency_p90_us"),
    *("latency_p99_us", "latency_p999_us", "latency_max_us", "latency_p50_ci_low_us"),
    *("latency_p50_ci_high_us", "latency_p99_ci_low_us", "latency_p99_ci_high_us"),
    *("deadline_miss_rate", "throughput_per_s", "throughput_ci_low_per_s"),
    *("throughput_ci_high_per_s", "achieved_rate_hz", "rounds", "iterations"),
    *("detectable_slowdown_p50", "compile_ms", "cold_total_p50_ms", "rss_peak_mib"),
    *("device_memory_peak_mib", "energy_mj_per_inference", "baseline_p50_ratio"),
    *("baseline_p50_ci_low", "baseline_p50_ci_high", "baseline_p50_verdict", "reference"),
    *("max_rel_error", "fidelity", "reason", "warnings", "warning_codes"),
)
"""The header of `results.csv`, the same for all runs; a cell is empty where there is no value."""


def columns_of(family: str) -> tuple[str, ...]:
    """The names of the columns that a family fills."""
    return tuple(column.name for column in COLUMNS if column.family == family)
