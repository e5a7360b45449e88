"""The columns of runs that were later than a deadline; empty where none was asked for."""

from __future__ import annotations

from app.cases.column import count, less, number, text

LATE = (
    number("deadline_us", "Deadline (µs)", "us", "What --deadline asked for.", group="settings"),
    count("deadline_misses", "Late", "How many runs of all rounds took longer."),
    less("deadline_miss_rate", "Late share", "", "The share of all runs that took longer."),
    less(
        "deadline_miss_rate_ci_low",
        "Late from",
        "",
        "The lower end of its 95 % interval.",
        group="confidence",
    ),
    less(
        "deadline_miss_rate_ci_high",
        "Late to",
        "",
        "The upper end of its 95 % interval.",
        group="confidence",
    ),
    text(
        "deadline_ci_missing_reason",
        "Late not bounded",
        "Why that interval is empty.",
        group="confidence",
    ),
)
