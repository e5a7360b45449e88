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

from app.analysis.columns.family import CaseData, Comparing, Count, Family, Lower, Number, Text
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.column import Row
from app.cases.jobs import PHASES, ColdStart
from app.cases.objectives import JUDGED
from app.formatting.text import one_line
from app.plan.plan import Plan
from app.plan.reference_cases import null_case
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


class ColdStarts(Family, heading="Cold starts"):
    """Empty where none were asked for."""

    cold_processes = Count(group="confidence")
    """How many fresh processes gave a first answer."""
    cold_page_cache = Text("Page cache", "settings")
    """Where the files were: warm in memory, dropped from it, or how much of them stayed."""
    cold_process_p50_ms = Lower("Cold process", "latency")
    """The median of from its start until it had its job: the interpreter and numpy."""
    cold_import_p50_ms = Lower("Cold import", "latency")
    """The median of the engine's own import."""
    cold_compile_p50_ms = Lower("Cold compile", "latency")
    """The median of the compilation of the graph, its file read."""
    cold_first_inference_p50_ms = Lower("Cold first inference", "latency")
    """The median of the first run."""
    cold_total_p50_ms = Lower("Cold total", "latency")
    """The median of from a process's start to its first answer."""
    cold_total_p50_ci_low_ms = Lower("Cold total from", "latency")
    """The lower end of its 95 % interval, by exact ranks; it takes 6 processes."""
    cold_total_p50_ci_high_ms = Lower("Cold total to", "latency")
    """The upper end of its 95 % interval."""
    cold_total_max_ms = Lower(group="latency")
    """The longest."""
    cold_missing_reason = Text("Cold start missing", "confidence")
    """Why a process gave no first answer."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        starts = data.run.results_of(ColdStart, data.case)
        complete = [s for s in starts if not s.reason and s.phases_ms.keys() >= set(PHASES)]
        values: Row = {"cold_missing_reason": _missing_reason(starts)}
        if not complete:
            return values if starts else {}
        values |= {"cold_processes": len(complete), "cold_page_cache": _page_cache(complete)}
        for phase in PHASES:
            spread = spread_of([s.phases_ms[phase] for s in complete])
            values[f"cold_{phase}_p50_ms"] = spread.p50_ms
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


class Overhead(Comparing, heading="Call overhead"):
    """Of each case that has a null twin, unless none was asked for."""

    overhead_case_id = Text("No-op model")
    """The case_id of the no-op copy of the model."""
    overhead_p99_us = Number(group="latency", each=JUDGED)
    """The p99 of the no-op model: call, copies and boundary."""
    compute_p50_us = Lower("Compute", "latency")
    """The model's median minus the twin's, over the rounds that both have."""
    compute_p50_ci_low_us = Lower("Compute from", "confidence")
    """The lower end of its 95 % interval."""
    compute_p50_ci_high_us = Lower("Compute to", "confidence")
    """The upper end of its 95 % interval."""
    compute_missing_reason = Text("Compute missing", "confidence")
    """Why there is no difference."""

    @staticmethod
    def fill(plan: Plan, measurements: Sequence[MeasuredCase]) -> dict[str, Row]:
        if not plan.null:
            return {}
        twins = {m.case.case_id: m for m in measurements if is_null(m.case.model)}
        return {
            m.case.case_id: _columns(m, twins) for m in measurements if not is_null(m.case.model)
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
