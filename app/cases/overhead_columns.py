"""Columns of overheads and checks: cold starts, the no-op twin, how far a compilation came."""

from __future__ import annotations

from app.cases.column import count, lower_better, number, text

_PHASES = {
    "process": "from its start until it had its job: the interpreter and numpy",
    "import": "the engine's own import",
    "compile": "the compilation of the graph, its file read",
    "first_inference": "the first run",
    "total": "from a process's start to its first answer",
}


COLD_START = (
    count(
        "cold_processes",
        "Cold processes",
        "How many fresh processes gave a first answer.",
        group="confidence",
    ),
    text(
        "cold_page_cache",
        "Page cache",
        "Where the files were: warm in memory, dropped from it, or how much of them stayed.",
        group="settings",
    ),
    *(
        lower_better(
            f"cold_{phase}_p50_ms",
            f"Cold {phase.replace('_', ' ')} (ms)",
            "ms",
            f"The median of {meaning}.",
        )
        for phase, meaning in _PHASES.items()
    ),
    lower_better(
        "cold_total_p50_ci_low_ms",
        "Cold total from (ms)",
        "ms",
        "The lower end of its 95 % interval, by exact ranks; it takes 6 processes.",
    ),
    lower_better(
        "cold_total_p50_ci_high_ms",
        "Cold total to (ms)",
        "ms",
        "The upper end of its 95 % interval.",
    ),
    lower_better("cold_total_max_ms", "Cold total max (ms)", "ms", "The longest."),
    text(
        "cold_missing_reason",
        "Cold start missing",
        "Why a process gave no first answer.",
        group="confidence",
    ),
)


NULL = (
    text(
        "overhead_case_id",
        "No-op model",
        "The case_id of the no-op copy of the model.",
        group="other",
    ),
    number(
        "overhead_p50_us",
        "Overhead p50 (µs)",
        "us",
        "The median of the no-op model: call, copies and boundary.",
    ),
    number("overhead_p99_us", "Overhead p99 (µs)", "us", "The 99th percentile of the no-op model."),
    lower_better(
        "compute_p50_us",
        "Compute (µs)",
        "us",
        "The model's median minus the twin's, over the rounds that both have.",
    ),
    lower_better(
        "compute_p50_ci_low_us",
        "Compute from (µs)",
        "us",
        "The lower end of its 95 % interval.",
        group="confidence",
    ),
    lower_better(
        "compute_p50_ci_high_us",
        "Compute to (µs)",
        "us",
        "The upper end of its 95 % interval.",
        group="confidence",
    ),
    text(
        "compute_missing_reason",
        "Compute missing",
        "Why there is no difference.",
        group="confidence",
    ),
)


CHECKING = (
    text(
        "check_level",
        "Check level",
        "How far a check came: opened here, or built for a device that is not here.",
    ),
    lower_better(
        "engine_size_mib",
        "Engine (MiB)",
        "MiB",
        "The size of the compiled engine as a file.",
        group="other",
    ),
    text("refused_node", "Refused node", "The node of the graph that the engine refused."),
    text(
        "fallback_ops",
        "Fallback operators",
        "Operators that the named engine left to another, each with its number of nodes.",
    ),
    count(
        "partitions",
        "Partitions",
        "Of a partial row: how many groups of consecutive nodes, in the order of execution, the "
        "providers run in turn. Data may be copied wherever the provider changes.",
    ),
    text(
        "splitting_nodes",
        "Splitting nodes",
        "Of a partial row: the nodes on another provider between nodes of the named engine.",
    ),
)
