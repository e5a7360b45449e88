"""What the samples of a case do among themselves, as columns of its row."""

from __future__ import annotations

from app.cases.column import Row
from app.stats.summary import Summary


def pattern_columns(summary: Summary) -> Row:
    """Empty where the runs are at one level, and slow ones at no beat."""
    found, stalls = summary.modes, summary.stalls
    values: Row = {}
    if found is not None:
        values |= {
            "mode_low_us": found.low,
            "mode_high_us": found.high,
            "mode_high_fraction": found.high_share,
        }
    if stalls is not None:
        values |= {
            "stalls": stalls.count,
            "stall_us": stalls.typical,
            "stall_period_us": stalls.period_ns / 1e3,
            "stall_fraction": stalls.time_share,
        }
    return values
