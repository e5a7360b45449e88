"""Columns of overheads: cold starts over processes, and a model minus its no-op twin.

Each cold start is one observation, and processes are independent of each other: the exact ranks
of order statistics bound the median, whatever the distribution.

Rounds of all cases interleave in a seeded order, so a round of a model and its no-op twin's
round
of the same number saw the same machine: together they are one observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import PHASES, TOTAL, ColdStart
from app.comparison.measured_case import Measured
from app.formatting.text import one_line
from app.plan.plan import Plan
from app.plan.reference_cases import null_case
from app.run_folder.run import Run
from app.stats.quantiles import Interval, order_statistic, rank_interval
from app.stats.verdict import Apart, apart
from exporters.model_names import is_null

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


_P50, _P99 = "p50", "p99"


def null_columns(plan: Plan, measured: Sequence[Measured]) -> dict[str, Row]:
    """Case id -> the columns about its null twin, of each case that has one; {} unless asked."""
    if not plan.null:
        return {}
    twins = {one.case.identity_id: one for one in measured if is_null(one.case.model)}
    return {
        one.case.case_id: _columns(one, twins) for one in measured if not is_null(one.case.model)
    }


def _columns(one: Measured, twins: Mapping[str, Measured]) -> Row:
    twin = twins.get(null_case(one.case).identity_id)
    if twin is None:
        return {}
    values: Row = {
        "overhead_case_id": twin.case.case_id,
        "overhead_p50_us": twin.value_us(_P50),
        "overhead_p99_us": twin.value_us(_P99),
    }
    why = _not_comparable(one, twin)
    found = None if why else _apart(one, twin)
    if found is None:
        return values | {"compute_missing_reason": why or "no round of both gave a median"}
    values["compute_p50_us"] = found.value
    if found.interval is not None:
        values["compute_p50_ci_low_us"] = found.interval.low
        values["compute_p50_ci_high_us"] = found.interval.high
    return values


def _not_comparable(one: Measured, twin: Measured) -> str:
    """Why there is no difference, '' if there is one."""
    for side, whose in ((one, "it"), (twin, "its null twin")):
        if not side.is_well:
            status = str(side.row["status"]).replace("_", " ")
            return f"{whose} is {status}: {side.row['reason'] or 'not measured'}"
    if one.turn != twin.turn:
        return "its null twin was not measured in turn with it: measure both in one run"
    return ""


def _apart(one: Measured, twin: Measured) -> Apart | None:
    a, b = one.by_round(_P50), twin.by_round(_P50)
    both = [number for number in a if number in b]
    return apart([a[number] for number in both], [b[number] for number in both])
