"""A model minus its null twin, paired round by round: what it computes, and what the call costs.

Rounds of all cases interleave in a seeded order, so a round of a model and its twin's round of the
same number saw the same machine: together they are one observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.cases.column import Row
from app.plan.null import null_case
from app.plan.plan import Plan
from app.results.measured import Measured
from app.stats.apart import Apart, apart
from exporters.twins import is_null

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
