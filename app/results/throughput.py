"""A case's samples -> the columns of its inputs in a second, where its scenario has them."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.stats.summary import MEAN, Summary
from app.stats.throughput import Rate, rate_of
from runtimes.execution import Samples

WITH_THROUGHPUT = ("closed_loop", "multistream", "ahead", "offline")
"""Kinds of scenarios whose runs follow each other, so that inputs in a second are the model's."""
OF_ARRIVAL = (
    "response_p50_us",
    "response_p99_us",
    "schedule_slip_p50_us",
    "schedule_slip_p99_us",
)
"""Empty for offline: how long its requests wait follows from how long a block was made."""


def throughput_columns(case: Case, summary: Summary, known: Row) -> Row:
    """Of a closed loop all lanes' inputs over the mean of a run, of multistream a query's over the
    mean of a query, of ahead what all lanes queue over the mean of a wait; offline's are
    `block_columns`."""
    mean, inputs = summary.figures[MEAN], _inputs_at_once(case, known)
    if not inputs or not mean.value:
        return {}
    values: Row = {"throughput_per_s": inputs * 1e6 / mean.value}
    if mean.interval is not None:
        values["throughput_ci_low_per_s"] = inputs * 1e6 / mean.interval.high
        values["throughput_ci_high_per_s"] = inputs * 1e6 / mean.interval.low
    return values


def block_rate(
    case: Case, rounds: Sequence[Samples], starts_s: Sequence[float], is_contended: bool
) -> Rate | None:
    """Of offline the runs of its blocks in a second; None of any other scenario.

    `starts_s` are the times at which the rounds began, empty where one is not known;
    `is_contended`: other work took the core from them.
    """
    if case.scenario.kind != "offline":
        return None
    return rate_of(rounds, starts_s=starts_s, is_contended=is_contended)


def block_columns(rate: Rate | None, batch_size: object) -> Row:
    """A block's inputs over its time, with all its lanes together."""
    if rate is None or not isinstance(batch_size, int):
        return {}
    values: Row = {"throughput_per_s": batch_size * rate.per_s}
    if rate.interval is not None:
        values["throughput_ci_low_per_s"] = batch_size * rate.interval.low
        values["throughput_ci_high_per_s"] = batch_size * rate.interval.high
    return values


def rates_by_round(
    case: Case, rate: Rate | None, summary: Summary | None, lanes: int
) -> tuple[float, ...]:
    """What a second holds in each timed round, in any one unit: runs, or queries of so many.

    Of offline its blocks' `rate`; of what has a mean of a run the lanes over it. () of the rest.
    """
    if rate is not None:
        return rate.by_round
    if summary is None or case.scenario.kind not in ("closed_loop", "multistream", "ahead"):
        return ()
    at_once = lanes if case.scenario.kind != "multistream" else 1
    return tuple(at_once * 1e6 / mean_us for mean_us in summary.figures[MEAN].by_round)


def _inputs_at_once(case: Case, known: Row) -> int | None:
    """How many inputs the mean latency is of; None for what has no such figure."""
    lanes, batch_size, queued = known["concurrency"], known["batch_size"], case.scenario.count
    if not isinstance(batch_size, int) or not isinstance(lanes, int):
        return None
    at_once = {"closed_loop": lanes, "multistream": queued, "ahead": lanes * queued}
    count = at_once.get(case.scenario.kind)
    return None if count is None else count * batch_size
