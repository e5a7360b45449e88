"""The columns of a model's row about its null twin."""

from __future__ import annotations

from app.cases.column import less, number, text

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
    less(
        "compute_p50_us",
        "Compute (µs)",
        "us",
        "The model's median minus the twin's, over the rounds that both have.",
    ),
    less(
        "compute_p50_ci_low_us",
        "Compute from (µs)",
        "us",
        "The lower end of its 95 % interval.",
        group="confidence",
    ),
    less(
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
