"""The columns of a model's row about its null twin."""

from __future__ import annotations

from app.cases.column import less, number, text

NULL = (
    text(
        "overhead_case_id",
        "Null twin",
        "The case_id of the twin that computes next to nothing.",
        group="other",
    ),
    number("overhead_p50_us", "Null p50 (µs)", "us", "The twin's median: call, copies, boundary."),
    number("overhead_p99_us", "Null p99 (µs)", "us", "The twin's 99th percentile."),
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
    text("compute_missing_reason", "No compute", "Why there is no difference.", group="confidence"),
)
