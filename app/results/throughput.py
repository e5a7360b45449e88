"""A case's samples -> the columns of its inputs in a second, where its scenario has them."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.stats.summary import MEAN, Summary
from app.stats.throughput import rate_of
from runtimes.execution import Samples

OF_ARRIVAL = (
    "response_p50_us",
    "response_p99_us",
    "start_lateness_p50_us",
    "start_lateness_p99_us",
)
"""Empty for offline: how long its requests wait follows from how long a block was made."""


def throughput_columns(case: Case, summary: Summary, known: Row) -> Row:
    """Of a closed loop all lanes' inputs over the mean of a run, of multistream a query's over the
    mean of a query, of ahead what all lanes queue over the mean of a wait; offline's are
    `block_columns`, and empty what would count from its arrivals."""
    if case.scenario.kind == "offline":
        return dict.fromkeys(OF_ARRIVAL)
    mean, inputs = summary.figures[MEAN], _inputs_at_once(case, known)
    if not inputs or not mean.value:
        return {}
    values: Row = {"throughput_per_s": inputs * 1e6 / mean.value}
    if mean.interval is not None:
        values["throughput_ci_low_per_s"] = inputs * 1e6 / mean.interval.high
        values["throughput_ci_high_per_s"] = inputs * 1e6 / mean.interval.low
    return values


def block_columns(case: Case, rounds: Sequence[Samples], batch_size: object) -> Row:
    """Of offline: a block's inputs over its time, with all its lanes together."""
    rate = rate_of(rounds) if case.scenario.kind == "offline" else None
    if rate is None or not isinstance(batch_size, int):
        return {}
    values: Row = {"throughput_per_s": batch_size * rate.per_s}
    if rate.interval is not None:
        values["throughput_ci_low_per_s"] = batch_size * rate.interval.low
        values["throughput_ci_high_per_s"] = batch_size * rate.interval.high
    return values


def _inputs_at_once(case: Case, known: Row) -> int | None:
    """How many inputs the mean latency is of; None for what has no such figure."""
    lanes, batch_size, queued = known["concurrency"], known["batch_size"], case.scenario.count
    if not isinstance(batch_size, int) or not isinstance(lanes, int):
        return None
    at_once = {"closed_loop": lanes, "multistream": queued, "ahead": lanes * queued}
    count = at_once.get(case.scenario.kind)
    return None if count is None else count * batch_size
