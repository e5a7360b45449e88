"""The columns of cold starts: the phases of fresh processes as distributions."""

from __future__ import annotations

from app.cases.column import Column, count, less, text

_PHASES = {
    "process": "from its start until it had its job: the interpreter and numpy",
    "import": "the engine's own import",
    "compile": "the compilation of the graph, its file read",
    "first_inference": "the first run",
    "total": "from a process's start to its first answer",
}


def _of_phase(phase: str, what: str) -> tuple[Column, ...]:
    said = phase.replace("_", " ")
    return (
        less(f"cold_{phase}_p50_ms", f"Cold {said} (ms)", "ms", f"The median of {what}."),
        less(
            f"cold_{phase}_p50_ci_low_ms",
            f"Cold {said} from (ms)",
            "ms",
            "The lower end of its 95 % interval, by exact ranks; it takes 6 processes.",
        ),
        less(
            f"cold_{phase}_p50_ci_high_ms",
            f"Cold {said} to (ms)",
            "ms",
            "The upper end of its 95 % interval.",
        ),
        less(
            f"cold_{phase}_p90_ms",
            f"Cold {said} p90 (ms)",
            "ms",
            "The 90th percentile; needs at least 36 processes.",
        ),
        less(f"cold_{phase}_max_ms", f"Cold {said} max (ms)", "ms", "The longest."),
    )


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
    *(column for phase, what in _PHASES.items() for column in _of_phase(phase, what)),
    text(
        "cold_missing_reason",
        "Cold start missing",
        "Why a process gave no first answer.",
        group="confidence",
    ),
)
