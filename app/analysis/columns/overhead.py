"""Columns of overheads: cold starts over processes, and a model minus its no-op twin.

Each cold start is one observation, and processes are independent of each other: the exact ranks
of order statistics bound the median, whatever the distribution.

Rounds of all cases interleave in a seeded order, so a round of a model and its no-op twin's round
of the same number saw the same machine: together they are one observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import PHASES, ColdStart
from app.formatting.text import one_line
from app.plan.plan import Plan
from app.plan.reference_cases import null_case
from app.run_folder.run import Run
from app.stats.quantiles import Interval, rank_interval
from app.stats.verdict import pair_rounds
from exporters.model_names import is_null

FORGOTTEN = 0.01
"""Files of which no more than this share stayed in memory count as dropped from it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One time of each process, in milliseconds; no interval where so few can't bound it."""

    p50_ms: float
    interval: Interval | None
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
    return Spread(float(np.median(ascending)), interval, float(ascending[-1]))


def cold_columns(run: Run, case: Case) -> Row:
    """What the case's cold starts tell; {} where none were asked for or come to."""
    starts = run.results_of(ColdStart, case)
    complete = [
        start for start in starts if not start.reason and start.phases_ms.keys() >= set(PHASES)
    ]
    values: Row = {"cold_missing_reason": _missing_reason(starts)}
    if not complete:
        return values if starts else {}
    values |= {"cold_processes": len(complete), "cold_page_cache": _page_cache(complete)}
    for phase in PHASES:
        values[f"cold_{phase}_p50_ms"] = spread_of([s.phases_ms[phase] for s in complete]).p50_ms
    total = spread_of([start.total_ms for start in complete])
    values |= {"cold_total_p50_ms": total.p50_ms, "cold_total_max_ms": total.max_ms}
    if total.interval is not None:
        values["cold_total_p50_ci_low_ms"] = total.interval.low
        values["cold_total_p50_ci_high_ms"] = total.interval.high
    return values


def _missing_reason(starts: Sequence[ColdStart]) -> str | None:
    return next((one_line(start.reason) for start in starts if start.reason), None)


def _page_cache(complete: Sequence[ColdStart]) -> str:
    """`dropped` is said only where it was seen that the files were forgotten."""
    shares = [start.kept_share for start in complete if start.kept_share is not None]
    if not shares:
        return "warm"
    return "dropped" if max(shares) <= FORGOTTEN else f"up to {max(shares):.0%} kept"


_P50, _P99 = "p50", "p99"


def null_columns(plan: Plan, measurements: Sequence[MeasuredCase]) -> dict[str, Row]:
    """Case id -> the columns about its null twin, of each case that has one; {} unless asked."""
    if not plan.null:
        return {}
    twins = {
        measurement.case.case_id: measurement
        for measurement in measurements
        if is_null(measurement.case.model)
    }
    return {
        measurement.case.case_id: _columns(measurement, twins)
        for measurement in measurements
        if not is_null(measurement.case.model)
    }


def _columns(measurement: MeasuredCase, twins: Mapping[str, MeasuredCase]) -> Row:
    twin = twins.get(null_case(measurement.case).case_id)
    if twin is None:
        return {}
    values: Row = {
        "overhead_case_id": twin.case.case_id,
        "overhead_p50_us": twin.value_us(_P50),
        "overhead_p99_us": twin.value_us(_P99),
    }
    reason = _incomparable_reason(measurement, twin)
    rounds = pair_rounds(measurement.by_round(_P50), twin.by_round(_P50))
    compute = None if reason else rounds.typical_difference
    if compute is None:
        return values | {"compute_missing_reason": reason or "no round of both gave a median"}
    values["compute_p50_us"] = compute.value
    if compute.interval is not None:
        values["compute_p50_ci_low_us"] = compute.interval.low
        values["compute_p50_ci_high_us"] = compute.interval.high
    return values


def _incomparable_reason(measurement: MeasuredCase, twin: MeasuredCase) -> str:
    """Why there is no difference, '' if there is one."""
    for side, subject in ((measurement, "it"), (twin, "its null twin")):
        if not side.is_well:
            status = str(side.row["status"]).replace("_", " ")
            return f"{subject} is {status}: {side.row['reason'] or 'not measured'}"
    if measurement.turn != twin.turn:
        return "its null twin was not measured in turn with it: measure both in one run"
    return ""
