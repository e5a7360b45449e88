"""Cold starts of a case as distributions over processes: their columns.

Each process is one observation, and processes are independent of each other: the exact ranks of
order statistics bound the median, whatever the distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.cases.case import Case
from app.cases.cold_start import PHASES, TOTAL, ColdStart
from app.cases.column import Row
from app.results.plain import one_line
from app.results.run import Run
from app.stats.quantiles import Interval, order_statistic, rank_interval

FORGOTTEN = 0.01
"""Files of which no more than this share stayed in memory count as dropped from it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One phase over the processes, in milliseconds; None where so few can't bound it."""

    p50_ms: float
    interval: Interval | None
    p90_ms: float | None
    max_ms: float


def spread_of(times_ms: Sequence[float]) -> Spread:
    """Of one time for each process [n], n at least 1."""
    ascending = np.sort(np.array(times_ms))
    count = len(ascending)
    ranks = rank_interval(count, 0.5)
    interval = None
    if ranks is not None:
        low, high = ranks
        interval = Interval(float(ascending[low - 1]), float(ascending[high - 1]))
    bounded = rank_interval(count, 0.9) is not None
    p90_ms = order_statistic(ascending, 0.9) if bounded else None
    return Spread(order_statistic(ascending, 0.5), interval, p90_ms, float(ascending[-1]))


def cold_columns(run: Run, case: Case) -> Row:
    """What the case's cold starts tell; {} where none were asked for or come to."""
    told = run.cold_starts_of(case)
    answered = [one for one in told if not one.reason and one.phases_ms.keys() >= set(PHASES)]
    values: Row = {"cold_missing_reason": _absent(told)}
    if not answered:
        return values if told else {}
    values |= {"cold_processes": len(answered), "cold_page_cache": _page_cache(answered)}
    for phase in (*PHASES, TOTAL):
        spread = spread_of([_time_ms(one, phase) for one in answered])
        values[f"cold_{phase}_p50_ms"] = spread.p50_ms
        values[f"cold_{phase}_p90_ms"] = spread.p90_ms
        values[f"cold_{phase}_max_ms"] = spread.max_ms
        if spread.interval is not None:
            values[f"cold_{phase}_p50_ci_low_ms"] = spread.interval.low
            values[f"cold_{phase}_p50_ci_high_ms"] = spread.interval.high
    return values


def _time_ms(one: ColdStart, phase: str) -> float:
    return one.total_ms if phase == TOTAL else one.phases_ms[phase]


def _absent(told: Sequence[ColdStart]) -> str | None:
    return next((one_line(one.reason) for one in told if one.reason), None)


def _page_cache(answered: Sequence[ColdStart]) -> str:
    """`dropped` is said only where it was seen that the files were forgotten."""
    kept = [one.kept_share for one in answered if one.kept_share is not None]
    if not kept:
        return "warm"
    return "dropped" if max(kept) <= FORGOTTEN else f"up to {max(kept):.0%} kept"
