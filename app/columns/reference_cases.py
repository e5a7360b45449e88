"""Columns of a case against a reference case of its run: the baseline, or a single replica.

Rounds of all cases interleave in a seeded order, so a round of a case and the baseline's round
of
the same number saw the same machine: together they are one observation.

A replica is a copy of the model, or a lane of one, that takes its share of the same work at the
same time, on one device or on one of several. Its rounds are paired with those of a single one
alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.latency_columns import WITH_COLUMNS
from app.columns.latency import WITH_THROUGHPUT
from app.columns.rounds import joined
from app.comparison.judge import (
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
from app.comparison.measured_case import Measured
from app.formatting.case_labels import labels
from app.machine.installed_runtimes import each_device_of, runtime
from app.plan.plan import Plan
from app.plan.reference_cases import baselines, unmatched
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import difference, interval_of
from exporters.model_names import is_null
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec


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


MULTIPLIED = (SESSIONS.name, "streams")
"""The options that put more runs in flight; left out, one is."""


def is_multiplied(case: Case) -> bool:
    """Whether the plan asks for more than one session, stream or device of it."""
    several = len(each_device_of(case.runtime)) > 1
    return several or any(name in case.options for name in MULTIPLIED)


def alone(case: Case) -> Case:
    """The same case with one session and one stream, on the first of its devices."""
    kept = {name: value for name, value in case.options.items() if name not in MULTIPLIED}
    return replace(case, runtime=each_device_of(case.runtime)[0], options=kept)


def _bases(case: Case) -> Iterator[Case]:
    """The case alone, by each name that its device has: that of no device is the usual one."""
    base = alone(case)
    yield base
    spec = parse_spec(base.runtime)
    if base.runtime != case.runtime and spec.device == runtime(spec.name).default_device:
        yield replace(base, runtime=str(replace(spec, device="")))


def scaling_columns(measured: Sequence[Measured]) -> dict[str, Row]:
    """Case id -> its columns, of each case that the run has measured alone as well."""
    by_id = {one.case.identity_id: one for one in measured}
    found: dict[str, Row] = {}
    for one in measured:
        if not is_multiplied(one.case):
            continue
        known = (by_id.get(base.identity_id) for base in _bases(one.case))
        base = next((there for there in known if there is not None), None)
        if base is not None:
            found[one.case.case_id] = _scaling_columns(base, one)
    return found


def _scaling_columns(base: Measured, one: Measured) -> Row:
    values: Row = {"scaling_baseline_case_id": base.case.case_id}
    why = _not_comparable(base, one)
    if why:
        return values | {"scaling_missing_reason": why}
    lanes, single = (number_of(side.row["concurrency"]) for side in (one, base))
    rate, single_rate = (number_of(side.row["throughput_per_s"]) for side in (one, base))
    assert lanes and single and rate and single_rate, "they are comparable"
    replicas, speedup = lanes / single, rate / single_rate
    values |= {
        "replicas": replicas,
        "speedup": speedup,
        "scaling_efficiency": speedup / replicas,
    }
    both = [number for number in base.rates if number in one.rates]
    apart = difference(
        [base.rates[number] for number in both],
        [one.rates[number] for number in both],
        in_turn=True,
    )
    if apart is not None:
        ends = interval_of(apart, CONFIDENCE)
        values["scaling_efficiency_ci_low"] = ends.low / replicas
        values["scaling_efficiency_ci_high"] = ends.high / replicas
    return values


def _why_no_throughput(side: Measured) -> str:
    if side.case.scenario.kind not in WITH_THROUGHPUT:
        return f"in {side.case.scenario} runs begin at given times, use --scenario offline"
    if side.row["batch_size"] is None:
        return "the model has no batch axis"
    return "its rounds give none"


def _not_comparable(base: Measured, one: Measured) -> str:
    """Why the two give no efficiency, '' if they give one."""
    for side, whose in ((one, "it"), (base, "it alone")):
        if not side.is_well:
            status = str(side.row["status"]).replace("_", " ")
            return f"{whose} is {status}: {side.row['reason'] or 'not measured'}"
        if not side.row["throughput_per_s"] or not side.row["concurrency"]:
            return f"{whose} has no known throughput: {_why_no_throughput(side)}"
    if base.turn != one.turn:
        return "one replica was not measured in turn with it: measure both in one run"
    if base.row["clock"] != one.row["clock"]:
        return f"the clock is {one.row['clock']}, alone {base.row['clock']}"
    return ""
