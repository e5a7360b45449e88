"""A run against its own baseline: each case paired with the baseline's, round by round.

Rounds of all cases interleave in a seeded order, so a round of a case and the baseline's round of
the same number saw the same machine: together they are one observation.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.column import Row
from app.cases.latency_columns import WITH_COLUMNS
from app.plan.baseline import baselines, unmatched
from app.plan.plan import Plan
from app.results.cells import joined
from app.results.labels import labels
from app.results.measured import Measured
from app.results.verdicts import (
    Compared,
    Comparison,
    NotCompared,
    Pair,
    Sides,
    clocks_apart,
    ending_of,
    judged,
    without_percentiles,
)
from exporters.twins import is_null


def against_baseline(plan: Plan, measured: Sequence[Measured], where: str) -> Comparison | None:
    """What the plan's baseline says of the run; None without one. `where` names the run.

    Null twins are no part of it.
    """
    if not plan.baseline:
        return None
    pairs, not_compared = _pairs(plan.baseline, measured)
    cases = judged(pairs, plan.band, in_turn=True, names=plan.judge)
    known = [one.case for one in measured if not is_null(one.case.model)]
    unpaired, without = unmatched(plan.baseline, known)
    names = labels([one.case for one in measured])
    return Comparison(
        plan.baseline,
        where,
        plan.band,
        True,
        cases,
        (*not_compared, *without_percentiles(pairs, cases)),
        tuple(names[case.case_id] for case in unpaired),
        tuple(names[case.case_id] for case in without),
    )


def baseline_columns(plan: Plan, measured: Sequence[Measured]) -> dict[str, Row]:
    """Case id -> the columns of the verdict, of the cases that have one."""
    if not plan.baseline:
        return {}
    pairs, _ = _pairs(plan.baseline, measured)
    by_id = {pair.second.case.identity_id: pair for pair in pairs}
    return {
        by_id[one.case_id].second.case.case_id: _columns(by_id[one.case_id], one)
        for one in judged(pairs, plan.band, in_turn=True, names=plan.judge)
    }


def _pairs(baseline: str, measured: Sequence[Measured]) -> tuple[list[Pair], list[NotCompared]]:
    """What is compared, and what is not."""
    partners = baselines(baseline, [one.case for one in measured])
    by_id = {one.case.case_id: one for one in measured}
    names = labels([one.case for one in measured])
    pairs: list[Pair] = []
    left_out: list[NotCompared] = []
    for case_id, partner in partners.items():
        pair = Pair(names[case_id], by_id[partner.case_id], by_id[case_id])
        reason, why = _hindrance(pair, names[partner.case_id])
        if reason:
            left_out.append(NotCompared(pair.second.case.identity_id, pair.label, reason, why))
        else:
            pairs.append(pair)
    return pairs, left_out


def _hindrance(pair: Pair, partner: str) -> tuple[str, str]:
    """Why a pair can have no verdict: a code and a sentence, both empty if it can have one."""
    for side, whose in ((pair.second, ""), (pair.first, f"its baseline {partner} is ")):
        if not side.is_well:
            reason, why = ending_of(side)
            return reason, f"{whose}{why}"
    return clocks_apart(pair)


def _columns(pair: Pair, compared: Compared) -> Row:
    values: Row = {"baseline_case_id": pair.first.case.case_id}
    why: dict[str, list[str]] = {}
    for name in WITH_COLUMNS:
        sides = compared.percentiles.get(name)
        if sides is not None:
            values |= _of_percentile(name, sides)
            if sides.verdict.why:
                why.setdefault(sides.verdict.why, []).append(name)
    values["baseline_verdict_reason"] = joined(
        f"{', '.join(who)}: {told}" for told, who in why.items()
    )
    return values


def _of_percentile(name: str, sides: Sides) -> Row:
    verdict = sides.verdict
    interval = verdict.interval
    return {
        f"baseline_{name}_ratio": verdict.ratio,
        f"baseline_{name}_ci_low": interval.low if interval else None,
        f"baseline_{name}_ci_high": interval.high if interval else None,
        f"baseline_{name}_verdict": verdict.word,
    }
