"""Columns that identify a row: the run, the model, the case and its settings."""

from __future__ import annotations

from app.cases.column import count, number, text

RUN = (
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
MODEL = (
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
CASE = (
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
    text("axes", "Axes", "The size of every open axis: name=size;name=size.", group="settings"),
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
        "All options of the runtime with the values that held: name=value;name=value.",
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
