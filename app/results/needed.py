"""How sure a row's figures are, and what they still lack: columns of the row, and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.cases.column import Row
from app.cases.judged import JUDGED
from app.stats.between import LEAST_ROUNDS
from app.stats.needed import NARROW, rounds_needed, samples_needed
from app.stats.summary import Summary
from app.stats.verdict import smallest_change_between


def needed_columns(summary: Summary) -> Row:
    """Rounds for a narrow interval, and the smallest change that such rounds would find."""
    values: Row = {}
    for name in JUDGED:
        figure = summary.figures[name]
        if figure.interval is not None:
            values[f"required_rounds_{name}"] = rounds_needed(
                figure.by_round,
                confidence=summary.confidence,
                inflation=figure.correlation.inflation if figure.correlation else 1.0,
            )
            values[f"detectable_slowdown_{name}"] = smallest_change_between(figure.by_round)
    return values


def still_needed(row: Mapping[str, Any], samples: int) -> str:
    """What the p99 lacks: `268 samples`, `6 more rounds for ±5 %`, or `nothing`.

    `row` is the case's as far as it is known, empty before its first round has ended; `samples`
    are those of all its rounds, the one in flight with them.
    """
    missing = samples_needed(0.99, samples)
    if missing:
        return f"{missing:,} samples"
    rounds, needed = row.get("rounds") or 0, row.get("required_rounds_p99")
    if needed is None:
        more = LEAST_ROUNDS - rounds
        return f"{more_rounds(more)} for an interval" if more > 0 else "longer rounds"
    more = needed - rounds
    return f"{more_rounds(more)} for ±{100 * NARROW:g} %" if more > 0 else "nothing"


def more_rounds(more: int) -> str:
    """`1 more round`, `6 more rounds`."""
    return "1 more round" if more == 1 else f"{more:,} more rounds"
