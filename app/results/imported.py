"""A row whose figures another program measured: what it says instead of what a row of ours does.

Its figures are those of all runs together, as the program tells them. No interval and no bound is
made of runs whose processes nobody here has started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.cases.column import Row
from app.cases.imported import Imported
from app.cases.latency_columns import LATENCY
from app.cases.round import RoundResult
from app.stats.summary import MEAN, Summary
from app.stats.typical import Estimate

REASON = "measured by {program}, not by Graphlap: no output was compared, and it is never ranked"
_OF_OURS = (
    "host",
    "started_at_utc",
    "seed",
    "device",
    "precision_requested",
    "threads",
    "wait_policy",
    "preset",
    "stop_reason",
    "steady_state",
    "drift",
    "warmup_iterations",
    "warmup_s",
    "input_sets",
    "concurrency",
)
"""What a plan or a measuring process of ours would have settled or seen."""
_OF_MEANS = ("p50", MEAN)
"""What means of several calls tell of calls; of their tail they tell nothing."""


def imported_by(rounds: Sequence[RoundResult]) -> Imported | None:
    """Who measured the rounds of a case; None of one of ours."""
    return next((result.imported for result in rounds if result.imported is not None), None)


def as_told(summary: Summary | None, rounds: Sequence[RoundResult]) -> Summary | None:
    """The statistics with the program's own figures, and those of all samples for others; as they
    are of a case of ours."""
    one = imported_by(rounds)
    if one is None or summary is None:
        return summary

    def value(name: str, pooled: float | None) -> float | None:
        stated = one.figures.get(f"latency_{name}_us")
        return float(stated) if stated is not None else pooled

    told = [name for name in summary.figures if one.calls == 1 or name in _OF_MEANS]
    absent = f"{one.program} tells none"
    return replace(
        summary,
        figures={
            name: Estimate(value(name, summary.pooled.get(name)), None, absent, figure.by_round)
            if name in told
            else Estimate(None, None, "each sample is the mean of several calls")
            for name, figure in summary.figures.items()
        },
        pooled={name: pooled if name in told else None for name, pooled in summary.pooled.items()},
        bounds={},
        early_stopping={},
        marks=(),
    )


def imported_columns(rounds: Sequence[RoundResult], values: Row) -> Row:
    """What replaces the columns of a row; nothing for one of ours."""
    one = imported_by(rounds)
    if one is None:
        return {}
    kept = {column.name for column in LATENCY if _is_figure(column.name)}
    ours = [column.name for column in LATENCY if column.name not in kept]
    return {
        **dict.fromkeys((*ours, *_OF_OURS)),
        **{name: value for name, value in one.figures.items() if name in values},
        "ci_missing_reason": values["ci_missing_reason"],
        "clock": one.clock,
        "boundary": one.boundary,
        "imported_from": one.told,
        "imported_file": one.file,
        "imported_sha256": one.sha256,
    }


def _is_figure(name: str) -> bool:
    """Of latencies, and of nothing that is claimed of them."""
    is_bound = "_ci_" in name or name.endswith("_upper_bound_us")
    return name.startswith(("latency_", "pooled_")) and not is_bound
