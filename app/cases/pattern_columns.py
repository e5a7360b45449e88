"""The columns of what the samples of a case do among themselves: two levels, stalls at a beat."""

from __future__ import annotations

from app.cases.column import count, number

PATTERNS = (
    number(
        "mode_low_us",
        "Lower level (µs)",
        "us",
        "Where the runs of most rounds jump between two levels, the lower; empty where they don't.",
    ),
    number("mode_high_us", "Upper level (µs)", "us", "The upper one of these levels."),
    number(
        "mode_high_fraction", "At upper level", "", "The fraction of the runs at the upper level."
    ),
    count("stalls", "Stalls", "How many slow runs came at even distances; empty where none did."),
    number("stall_us", "Stall (µs)", "us", "By how much such a stall outlasts the median run."),
    number("stall_period_us", "Stalls every (µs)", "us", "The time from one stall to the next."),
    number(
        "stall_fraction", "In stalls", "", "The fraction of the measured time that stalls took."
    ),
)
