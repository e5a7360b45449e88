"""The columns of `results.csv`: one table that says of each all that anybody asks of it.

Units are in the names, empty means not measured. A new column is an entry here, or in the module
of its section, and a value from the function of its family (`app.columns.families`); the table in
the window, the console, the reader of CSV files and the page that documents them follow from it.
The functions stand there, since plans name columns too and compute nothing.
"""

from __future__ import annotations

from app.cases.column import Column, count, flag, lower_better, number, section, text
from app.cases.environment_columns import CONDITION, ENGINE, GPU, IMPORTED, PLACING
from app.cases.latency_columns import BASELINE, LATE, LATENCY, PATTERNS
from app.cases.overhead_columns import CHECKING, COLD_START, NULL
from app.cases.serving_columns import BATCHER, LOAD, SCALING, SHAPES

_RUN = (
    count("schema_version", "Schema", "The schema of the run folder that the row comes from."),
    text("graphlap_version", "Graphlap", "The version that began the run."),
    text("run_id", "Run", "12 hex digits that name the run."),
    text(
        "case_id",
        "Case",
        "12 hex digits that name the case, the same on every host.",
        group="identity",
    ),
    text("host", "Host", "The machine that measured.", group="identity"),
    text("started_at_utc", "Started", "When the first round of the case began, in UTC."),
)
_MODEL = (
    text("suite", "Suite", "The suite of the catalogue that the model belongs to."),
    text(
        "model",
        "Model",
        "A catalogue name, an .onnx path, path/file.py:factory or hf:PATH.",
        group="identity",
    ),
    text("family", "Family", "What the source table calls the kind of network."),
    count("layers", "Layers", "What the source table counts as layers."),
    count("width", "Width", "What the source table calls the width."),
    count("parameters", "Parameters", "Trained values, as torch counts them."),
    count(
        "parameters_with_buffers",
        "With buffers",
        "Parameters with every norm's running mean and variance.",
    ),
    count("macs", "MACs", "Multiply-accumulates of one run at the default sizes."),
    text("model_sha256", "Model sha256", "What the exported file is known by."),
    count("opset", "Opset", "The ONNX operator set of the file."),
)
_CASE = (
    text(
        "runtime",
        "Runtime",
        "name[:device][@release or environment], as in the plan.",
        group="identity",
    ),
    text("runtime_version", "Runtime version", "The engine's own version.", family="rounds"),
    text(
        "execution_provider",
        "Provider",
        "The engine or provider that ran the graph.",
        family="rounds",
    ),
    text(
        "device",
        "Device",
        "What follows the colon in the runtime's name; `0+1` are two that share the work.",
    ),
    text(
        "device_name",
        "Device name",
        "The device's own name; of several that differ all of them.",
        group="identity",
        family="rounds",
    ),
    text("precision_requested", "Requested precision", "The precision that the plan requests."),
    text(
        "precision",
        "Precision",
        "The precision that was executed, read from the graph.",
        group="settings",
        family="rounds",
    ),
    count("batch_size", "Batch", "How many inputs one run takes.", group="settings"),
    count(
        "sequence_length",
        "Sequence",
        "How many time steps a sequence model is given.",
        group="settings",
    ),
    text("axes", "Axes", "The size of every open axis, as name=size.", group="settings"),
    text(
        "assumed_sizes",
        "Assumed sizes",
        "Open axes of a user's file without a size in the plan, with the assumed size: what "
        "the graph implies, else 1 for a batch, 128 for a sequence, 224 for the side of an image.",
        group="settings",
    ),
    text(
        "user_files",
        "User files",
        "The user's own weights, inputs and calibration data, and the selected part of a graph.",
        group="settings",
    ),
    text(
        "inputs_drawn",
        "Inputs drawn",
        "What each input holds: a range, normal, as in the example, given or packaged.",
    ),
    text(
        "input_sets",
        "Input sets",
        "How many sets of inputs the runs use in turn; one set stays in the caches.",
        family="inputs",
    ),
    count(
        "threads",
        "Threads",
        "How many threads the engine may use; 0 leaves it to the engine.",
        group="settings",
    ),
    text(
        "options",
        "Options",
        "All options of the runtime with the values that held.",
        group="settings",
    ),
    count("concurrency", "Concurrency", "How many runs were in flight at once.", family="rounds"),
    text(
        "scenario",
        "Scenario",
        "When the next run begins: at once, after a gap, or on time.",
        group="settings",
    ),
    number("gap_us", "Gap (µs)", "us", "The pause asked for between two runs.", group="settings"),
    number(
        "offered_rate_hz",
        "Offered rate (1/s)",
        "1/s",
        "Requests per second that the scenario offers.",
        group="settings",
    ),
    count(
        "burst_size",
        "Burst size",
        "Requests that arrive together, of one multistream query, or queued together.",
        group="settings",
    ),
    number(
        "burst_period_us",
        "Burst period (µs)",
        "us",
        "The time from one burst to the next.",
        group="settings",
    ),
    text(
        "condition",
        "Condition",
        "The condition added to the scenario, such as cold caches.",
        group="settings",
    ),
    text(
        "wait_policy",
        "Wait policy",
        "How the pause is waited out: spin, hybrid or sleep.",
        group="settings",
    ),
    text(
        "clock",
        "Clock",
        "Wall clock, the device's own clock, or simulated: never compare them blindly. Of another "
        "program its own, in words.",
        group="settings",
        family="rounds",
    ),
    text(
        "call_path",
        "Call path",
        "Through which entry point of the engine a run is called.",
        family="rounds",
    ),
    text(
        "boundary",
        "Boundary",
        "Where the outputs are complete: in host or device memory. Of another program what lies "
        "between its readings of the clock.",
        family="rounds",
    ),
    count(
        "rounds", "Rounds", "How many processes gave timings.", group="confidence", family="rounds"
    ),
    count("seed", "Seed", "Draws the order of the rounds and all data."),
    text(
        "fidelity",
        "Fidelity",
        "Of a simulated card's mean and p99: `calibrated` where a table was published for this "
        "release with such models at such a pace, else `extrapolated`; never of a throughput.",
        group="verdict",
        family="facts",
    ),
    text(
        "fidelity_reason",
        "Fidelity: reason",
        "Why no published table vouches for the figures.",
        group="other",
        family="facts",
    ),
    text(
        "card_release",
        "Card release",
        "The release of the simulated card's software.",
        group="settings",
        family="facts",
    ),
)
_MEASURING = (
    text(
        "preset",
        "Preset",
        "The name of the preset: how long each round measures, and how many rounds.",
        family="identity",
    ),
    count("warmup_iterations", "Warm-up runs", "Runs before the measurement, of all rounds."),
    number("warmup_s", "Warm-up (s)", "s", "How long the rounds warmed up, together."),
    flag(
        "steady_state",
        "Steady state",
        "Whether every round reached a steady state in its warm-up; empty: unknown.",
    ),
    text(
        "drift",
        "Drift",
        "What the level did within the rounds: flat, or how it moved.",
        family="latency",
    ),
    text(
        "stop_reason",
        "Stopped by",
        "What ended the rounds, and with precise what the case had reached when it ended.",
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
    number(
        "achieved_gap_p99_us",
        "Achieved gap p99 (µs)",
        "us",
        "The 99th percentile of these pauses.",
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
    Column(
        "throughput_per_s_per_kw",
        "number",
        "Inputs/s per kW",
        "Inputs in a second over the power; empty where no device reports its power.",
        "1/s/kW",
        "higher",
        family="ratios",
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
    number(
        "cosine_similarity",
        "Cosine similarity",
        "",
        "The cosine similarity of the outputs and the reference.",
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
    "The run": section("other", "identity", _RUN),
    "The model": section("other", "identity", _MODEL),
    "The case": section("other", "identity", _CASE),
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


def columns_of(family: str) -> tuple[str, ...]:
    """The names of the columns that a family fills."""
    return tuple(column.name for column in COLUMNS if column.family == family)
