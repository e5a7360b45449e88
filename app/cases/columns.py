"""The columns of `results.csv`: one table that says of each all that anybody asks of it.

Units are in the names, empty means not measured. A new column is one line here and its value
in `app.results.rows`; the table in the window, the console, the reader of CSV files and the
page that documents them follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | None
Row = dict[str, Value]
Kind = Literal["text", "count", "number", "flag"]


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is text, a whole number, a number or true/false; `title` is a table's heading.

    `better` says which of two figures one would rather have, empty where neither.
    """

    name: str
    kind: Kind
    title: str
    meaning: str
    unit: str = ""
    better: Literal["", "lower", "higher"] = ""


def _text(name: str, title: str, meaning: str) -> Column:
    return Column(name, "text", title, meaning)


def _count(name: str, title: str, meaning: str, unit: str = "") -> Column:
    return Column(name, "count", title, meaning, unit)


def _number(name: str, title: str, unit: str, meaning: str) -> Column:
    return Column(name, "number", title, meaning, unit)


def _flag(name: str, title: str, meaning: str) -> Column:
    return Column(name, "flag", title, meaning)


def _less(name: str, title: str, unit: str, meaning: str) -> Column:
    return Column(name, "number", title, meaning, unit, "lower")


PERCENTILES: dict[str, str] = {
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p999": "p99.9",
}
"""The name in columns, and as people write it."""
INTERVALS: dict[str, str] = {"mean": "mean", **PERCENTILES}
"""The figures that have an interval, and how people write them."""

BOUNDED = ("p90", "p99")
"""The percentiles that have a one-sided bound, and MLPerf's estimate."""

_SLOWER_THAN = {
    "p50": "The median: half of the runs were at most this slow",
    "p90": "90 of 100 runs were at most this slow",
    "p95": "95 of 100 runs were at most this slow",
    "p99": "99 of 100 runs were at most this slow",
    "p999": "999 of 1,000 runs were at most this slow",
}


def _latency(name: str, title: str, meaning: str) -> Column:
    return _less(f"latency_{name}_us", f"{title} (µs)", "us", meaning)


def _bounds(name: str) -> tuple[Column, ...]:
    shown = INTERVALS[name]
    return tuple(
        _latency(f"{name}_ci_{end}", f"{shown} from" if end == "low" else f"{shown} to", meaning)
        for end, meaning in (
            ("low", f"The lower end of the 95 % interval of {shown}."),
            ("high", f"The upper end of the 95 % interval of {shown}."),
        )
    )


_RUN = (
    _count("schema_version", "Schema", "The schema of the run folder that the row comes from."),
    _text("graphlap_version", "Graphlap", "The version that began the run."),
    _text("run_id", "Run", "12 hex digits that name the run."),
    _text("case_id", "Case", "12 hex digits that name the case, the same on every host."),
    _text("host", "Host", "The machine that measured."),
    _text("started_at_utc", "Started", "When the first round of the case began, in UTC."),
)
_MODEL = (
    _text("suite", "Suite", "The suite of the catalogue that the model belongs to."),
    _text("model", "Model", "A catalogue name, an .onnx path, path/file.py:factory or hf:PATH."),
    _text("family", "Family", "What the source table calls the kind of network."),
    _count("layers", "Layers", "What the source table counts as layers."),
    _count("width", "Width", "What the source table calls the width."),
    _count("parameters", "Parameters", "Trained values, as torch counts them."),
    _count(
        "parameters_with_buffers",
        "With buffers",
        "Parameters with every norm's running mean and variance.",
    ),
    _count("macs", "MACs", "Multiply-accumulates of one run at the default sizes."),
    _text("model_sha256", "Model sha256", "What the exported file is known by."),
    _count("opset", "Opset", "The ONNX operator set of the file."),
)
_CASE = (
    _text("runtime", "Runtime", "name[:device][@release], as the plan said it."),
    _text("runtime_version", "Runtime version", "The engine's own version."),
    _text("execution_provider", "Provider", "The engine or provider that ran the graph."),
    _text("device", "Device", "What follows the colon in the runtime's name."),
    _text("device_name", "Device name", "The device's own name."),
    _text("precision_asked", "Precision asked", "The precision that the plan said."),
    _text("precision", "Precision", "The precision that was executed, read from the graph."),
    _count("batch_size", "Batch", "How many inputs one run takes."),
    _count("sequence_length", "Sequence", "How many time steps a sequence model is given."),
    _text("axes", "Axes", "The size of every open axis, as name=size."),
    _text("given", "Given", "The user's own weights, inputs, calibration and part of a graph."),
    _text(
        "inputs_drawn",
        "Inputs drawn",
        "What each input holds: a range, normal, as in the example, given or packaged.",
    ),
    _text(
        "inputs_fed",
        "Inputs fed",
        "One set for all runs, cache-hot, or how many in turn.",
    ),
    _count("threads", "Threads", "How many threads the engine may use; 0 leaves it to the engine."),
    _text("options", "Options", "All options of the runtime with the values that held."),
    _count("concurrency", "Concurrency", "How many runs were in flight at once."),
    _text("scenario", "Scenario", "When the next run begins: at once, after a gap, or on time."),
    _number("gap_us", "Gap (µs)", "us", "The pause asked for between two runs."),
    _number("rate_hz", "Rate (1/s)", "1/s", "The arrivals asked for in a second."),
    _count("at_once", "At once", "How many requests arrive together."),
    _number("period_us", "Period (µs)", "us", "The time from burst to burst."),
    _text("wait_policy", "Wait policy", "How the pause is waited out: spin, hybrid or sleep."),
    _text(
        "clock",
        "Clock",
        "Wall clock, the device's own clock, or simulated: never compare them blindly.",
    ),
    _text("call_path", "Call path", "Through which entry point of the engine a run is called."),
    _text("boundary", "Boundary", "Where the outputs are complete: in host or device memory."),
    _count("rounds", "Rounds", "How many processes gave timings."),
    _count("seed", "Seed", "Draws the order of the rounds and all data."),
    _text("fidelity", "Fidelity", "Whether the card's model was calibrated on such a graph."),
)
_MEASURING = (
    _text("profile", "Profile", "The lengths of the run by name: how long, and how many rounds."),
    _count("warmup_iterations", "Warm-up runs", "Runs before the measurement, of all rounds."),
    _number("warmup_s", "Warm-up (s)", "s", "How long the rounds warmed up, together."),
    _flag("settled", "Settled", "Whether every round settled in its warm-up; empty: not known."),
    _text("drift", "Drift", "What the level did within the rounds: flat, or how it moved."),
    _text(
        "stop_reason",
        "Stopped by",
        "What ended the rounds, and with precise what the case had reached when it ended.",
    ),
    _count("iterations", "Samples", "Measured runs, of all rounds."),
    _number("duration_s", "Measured (s)", "s", "How long the rounds measured, together."),
    _number("gap_had_p50_us", "Gap p50 (µs)", "us", "The median of the pauses between two runs."),
    _number("gap_had_p99_us", "Gap p99 (µs)", "us", "99 of 100 pauses were at most so long."),
)
_LATENCY = (
    _latency("mean", "Mean", "The mean, in a typical process."),
    _latency("std", "Deviation", "The standard deviation of all samples."),
    _latency("min", "Fastest", "The fastest sample."),
    *(
        _latency(name, shown, f"{_SLOWER_THAN[name]}, in a typical process.")
        for name, shown in PERCENTILES.items()
    ),
    _latency("max", "Slowest", "The slowest sample."),
    *(column for name in INTERVALS for column in _bounds(name)),
    _text(
        "ci_method",
        "Interval by",
        "How the intervals were had: t_ranks, or t_ranks_looks where rounds were added until they "
        "were narrow; empty for none.",
    ),
    _number("ci_level", "Interval level", "", "How often such intervals hold the truth."),
    _text(
        "ci_marks",
        "Interval marks",
        "few_rounds: below eight, modes of processes go unseen. few_runs: below 1,000 in a round, "
        "rare spells do.",
    ),
    _text("ci_absent", "Not claimed", "Which figures or intervals are empty, and why."),
    _count(
        "effective_samples",
        "Independent samples",
        "How many independent runs the samples beyond p99 are worth, of all rounds.",
    ),
    *(
        _count(
            f"rounds_needed_{name}",
            f"Rounds for {name}",
            f"How many rounds in all give {name} an interval of ±5 %, if more spread as these do.",
        )
        for name in ("p50", "p99")
    ),
    *(
        _number(
            f"smallest_change_{name}",
            f"Finds in {name}",
            "",
            f"The smallest slowdown of {name}, as a share, that a comparison of as many rounds "
            "would find in nine of ten tries.",
        )
        for name in ("p50", "p99")
    ),
    *(
        _less(
            f"pooled_{name}_us",
            f"Pooled {shown} (µs)",
            "us",
            f"{_SLOWER_THAN[name]}, of all rounds' samples together.",
        )
        for name, shown in PERCENTILES.items()
    ),
    *(
        _latency(
            f"{name}_upper_bound",
            f"{name} at most",
            f"What the {name} of a typical process is at most, with a confidence of 99 %: "
            "one-sided, over the rounds.",
        )
        for name in BOUNDED
    ),
    _text("upper_bound_absent", "No bound", "Which upper bounds are empty, and why."),
    *(
        _less(
            f"mlperf_{name}_us",
            f"MLPerf {name} (µs)",
            "us",
            f"MLPerf's early-stopping estimate of the {name} from all samples, each taken for "
            "independent; of a closed loop.",
        )
        for name in BOUNDED
    ),
    _flag("mlperf_valid", "MLPerf valid", "Whether its rules call the samples enough for both."),
    _text("mlperf_absent", "MLPerf lacks", "Which MLPerf estimates are empty, and why."),
    _less("response_p50_us", "Response p50 (µs)", "us", "Median from the scheduled start."),
    _less("response_p99_us", "Response p99 (µs)", "us", "p99 from the scheduled start."),
    _less(
        "start_lateness_p99_us",
        "Lateness p99 (µs)",
        "us",
        "How late 99 of 100 runs began at most, after their scheduled start.",
    ),
    _less("h2d_p50_us", "To device p50 (µs)", "us", "Median of the copies to the device."),
    _less("device_p50_us", "Device p50 (µs)", "us", "Median on the device's own clock."),
    _less("d2h_p50_us", "From device p50 (µs)", "us", "Median of the copies from the device."),
    Column(
        "throughput_per_s",
        "number",
        "Inputs/s",
        "Inputs in a second, of a closed loop: concurrency times batch over the mean latency.",
        "1/s",
        "higher",
    ),
    *(
        Column(
            f"throughput_ci_{end}_per_s",
            "number",
            f"Inputs/s {word}",
            f"The {side} end of the 95 % interval of the throughput.",
            "1/s",
            "higher",
        )
        for end, word, side in (("low", "from", "lower"), ("high", "to", "upper"))
    ),
    _less("compile_ms", "Compile (ms)", "ms", "Median over the rounds of the time to compile."),
    _less("first_inference_ms", "First run (ms)", "ms", "Median over the rounds of the first run."),
    _number("harness_floor_ns", "Floor (ns)", "ns", "What the timed loop tells of an empty call."),
)
_BASELINE = (
    _text("baseline", "Baseline", "The case_id of the row that this one is compared with."),
    *(
        column
        for name in ("p50", "p99")
        for column in (
            _less(
                f"baseline_{name}_ratio",
                f"{name} to baseline",
                "",
                f"{name} over the baseline's, from pairs of rounds of the same number.",
            ),
            *(
                _less(
                    f"baseline_{name}_ci_{end}",
                    f"{name} to baseline {word}",
                    "",
                    f"The {side} end of the 95 % interval of that ratio.",
                )
                for end, word, side in (("low", "from", "lower"), ("high", "to", "upper"))
            ),
            _text(
                f"baseline_{name}_verdict",
                f"{name} verdict",
                "faster, slower, same or undecided: all verdicts of the run judged together.",
            ),
        )
    ),
    _text("baseline_why", "Undecided", "Why a verdict is undecided, by percentile."),
)
_RESOURCES = (
    _less(
        "device_memory_peak_mb",
        "Device memory (MiB)",
        "MiB",
        "The most memory that the measuring process held on the device.",
    ),
    _less("rss_peak_mb", "Memory (MiB)", "MiB", "The most memory that the process held."),
    _less(
        "energy_mj_per_inference",
        "Energy (mJ)",
        "mJ",
        "Energy of the whole device for one run, whatever its batch.",
    ),
    _number(
        "power_w",
        "Power (W)",
        "W",
        "Mean power of the whole device; a round of less than half a second tells none.",
    ),
    _number("gpu_clock_mhz", "GPU clock (MHz)", "MHz", "Median clock of the GPU."),
    _text("throttle", "Throttle", "What held the device's clock down, or none."),
)
_INTERFERENCE = (
    _number("load_1min", "Load", "", "The highest load of the last minute when a round began."),
    _number("steal_share", "Steal", "", "What a hypervisor took of the usable cores' time."),
    _number(
        "involuntary_switches_per_s",
        "Switches/s",
        "1/s",
        "How often a second the measuring process lost a core to another thread.",
    ),
    _number("page_faults_per_s", "Faults/s", "1/s", "Its page faults, minor and major."),
    _number("interrupts_per_s", "Interrupts/s", "1/s", "Interrupts of the whole machine."),
    _number("cpu_mhz_min", "Clock from (MHz)", "MHz", "The lowest clock of the core that timed."),
    _number("cpu_mhz_max", "Clock to (MHz)", "MHz", "Its highest clock."),
    _number("temperature_c", "Temperature (°C)", "C", "The processor's highest temperature."),
    _count("outliers", "Outliers", "Runs more than 3 IQR above the third quartile of their round."),
    _text("outliers_by", "Outliers by", "What came between when they ran; unseen: nothing was."),
)
_OUTPUT = (
    _text("reference", "Reference", "Who computed the outputs that it is compared with."),
    _less("max_abs_error", "Absolute error", "", "The largest difference from the reference."),
    _less(
        "max_rel_error",
        "Error",
        "",
        "The largest difference from the reference output, over its largest value.",
    ),
    _number("cosine", "Cosine", "", "The cosine between the output and the reference."),
    _number(
        "tolerance",
        "Tolerance",
        "",
        "The error that is allowed: from the types that the graph computes in, or as asked for.",
    ),
    _flag(
        "output_ok",
        "Output right",
        "Whether the error is within the tolerance; empty where nothing was compared.",
    ),
    Column(
        "accuracy_top1",
        "number",
        "Top-1",
        "The share of labelled images that are answered rightly.",
        "",
        "higher",
    ),
)
_CARD = (
    _less("cycles", "Cycles", "cycles", "Simulated clock cycles on the critical path."),
    _less("io_us", "I/O (µs)", "us", "Simulated time of the transfers to and from the card."),
    _count("weight_tiles_used", "Tiles used", "Weight tiles of the card that the model takes."),
    _count("weight_tiles_total", "Tiles", "Weight tiles that the card has."),
)
_ENDING = (
    _text("status", "Status", "How the case ended; only ok is compared with other rows."),
    _flag("valid", "Valid", "Whether the measurement kept its own protocol."),
    _text("reason", "Reason", "Why the case failed or could not run."),
    _text("warnings", "Warnings", "Sentences that say where the figures should be doubted."),
)

GROUPS: dict[str, tuple[Column, ...]] = {
    "The run": _RUN,
    "The model": _MODEL,
    "The case": _CASE,
    "How it was measured": _MEASURING,
    "Latency and rate": _LATENCY,
    "Against the baseline": _BASELINE,
    "Memory, energy and clocks": _RESOURCES,
    "What came between": _INTERFERENCE,
    "Outputs": _OUTPUT,
    "The simulated card": _CARD,
    "How it ended": _ENDING,
}
COLUMNS: tuple[Column, ...] = tuple(column for group in GROUPS.values() for column in group)
BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
