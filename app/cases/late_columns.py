"""The columns of runs that were later than a deadline; empty where none was asked for."""

from __future__ import annotations

from app.cases.column import count, less, number, text

LATE = (
    number("deadline_us", "Deadline (µs)", "us", "What --deadline asked for.", group="settings"),
    count(
        "deadline_misses",
        "Deadline misses",
        "Runs of all rounds that took longer than the deadline.",
    ),
    less(
        "deadline_miss_rate",
        "Miss rate",
        "",
        "The fraction of all runs that took longer than the deadline.",
    ),
    less(
        "deadline_miss_rate_ci_low",
        "Miss rate from",
        "",
        "The lower end of its 95 % interval.",
        group="confidence",
    ),
    less(
        "deadline_miss_rate_ci_high",
        "Miss rate to",
        "",
        "The upper end of its 95 % interval.",
        group="confidence",
    ),
    text(
        "deadline_ci_missing_reason",
        "Miss rate interval missing",
        "Why that interval is empty.",
        group="confidence",
    ),
)
