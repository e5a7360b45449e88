"""A case's summary -> the columns of what its tail is at most, and of what MLPerf would report."""

from __future__ import annotations

from app.cases.case import Case
from app.cases.column import Row
from app.cases.latency_columns import INTERVALS
from app.results.cells import joined
from app.stats.summary import Summary


def bound_columns(case: Case, summary: Summary) -> Row:
    """Of a timed case; MLPerf's of a closed loop, its single stream, and of its multistream."""
    values: Row = {
        f"latency_{name}_upper_bound_us": bound.value for name, bound in summary.bounds.items()
    }
    values["upper_bound_missing_reason"] = joined(
        f"{INTERVALS[name]}: {bound.absent}" for name, bound in summary.bounds.items()
        if bound.absent
    )  # fmt: skip
    if case.scenario.kind not in ("closed_loop", "multistream"):
        return values
    told = summary.early_stopping
    values |= {f"mlperf_{name}_us": one.estimate for name, one in told.items()}
    values["mlperf_valid"] = all(one.valid for one in told.values())
    values["mlperf_missing_reason"] = joined(
        f"{INTERVALS[name]}: {one.reason}" for name, one in told.items() if one.reason
    )
    return values
