"""Columns of a case against a reference case of its run: the baseline, or a single replica.

Rounds of all cases interleave in a seeded order, so a round of a case and the baseline's round of
the same number saw the same machine: together they are one observation.

A replica is a copy of the model, or a lane of one, that takes its share of the same work at the
same time, on one device or on one of several. Its rounds are paired with those of a single one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from app.analysis.columns.family import Comparing, Higher, Lower, Number, Text
from app.analysis.columns.latency import WITH_THROUGHPUT
from app.analysis.columns.rounds import join_values
from app.analysis.comparison.judge import (
    ComparedCase,
    Comparison,
    Sides,
    judge_pairs,
    missing_percentiles,
)
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.pairing import (
    Pair,
    Pairing,
    ending_reason,
    pairing_of,
    timing_obstacle,
)
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.objectives import WITH_COLUMNS
from app.formatting.case_labels import labels
from app.machine.installed_runtimes import each_device_of, runtime
from app.plan.plan import Plan
from app.plan.reference_cases import baselines, unmatched
from app.stats.verdict import pair_rounds
from exporters.model_names import is_null
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec


def compare_with_baseline(
    plan: Plan, measurements: Sequence[MeasuredCase], run_name: str
) -> Comparison | None:
    """What the plan's baseline says of the run; None without one. `run_name` names the run.

    Null twins are no part of it.
    """
    if not plan.baseline:
        return None
    pairing = _pairing(plan.baseline, measurements)
    cases = judge_pairs(pairing.pairs, plan.band, in_turn=True, names=plan.judge)
    real_cases = [m.case for m in measurements if not is_null(m.case.model)]
    unpaired_cases, extra_cases = unmatched(plan.baseline, real_cases)
    names = labels([measurement.case for measurement in measurements])
    return Comparison(
        plan.baseline,
        run_name,
        plan.band,
        True,
        cases,
        (*pairing.not_compared, *missing_percentiles(pairing.pairs, cases)),
        tuple(names[case.case_id] for case in unpaired_cases),
        tuple(names[case.case_id] for case in extra_cases),
        detect=plan.detect,
    )


class Baseline(Comparing, heading="Comparison with the baseline"):
    """Of the cases that have a verdict."""

    baseline_case_id = Text("Baseline")
    """The case_id of the row that this one is compared with."""
    baseline_p99_ratio = Lower("p99 to baseline", "verdict", each=WITH_COLUMNS)
    """p99 over the baseline's, from pairs of rounds of the same number."""
    baseline_p99_ci_low = Lower("p99 to baseline from", "verdict", each=WITH_COLUMNS)
    """The lower end of the interval of that ratio that decided the verdict."""
    baseline_p99_ci_high = Lower("p99 to baseline to", "verdict", each=WITH_COLUMNS)
    """The upper end of the interval of that ratio that decided the verdict."""
    baseline_p99_verdict = Text("p99 verdict", "verdict", each=WITH_COLUMNS)
    """faster, slower, same or undecided: all verdicts of the run judged together."""
    baseline_verdict_reason = Text("Verdict reason", "verdict")
    """Why a verdict is undecided, by figure."""

    @staticmethod
    def fill(plan: Plan, measurements: Sequence[MeasuredCase]) -> dict[str, Row]:
        if not plan.baseline:
            return {}
        pairs = _pairing(plan.baseline, measurements).pairs
        by_id = {pair.second.case.case_id: pair for pair in pairs}
        return {
            by_id[c.case_id].second.case.case_id: _columns(by_id[c.case_id], c)
            for c in judge_pairs(pairs, plan.band, in_turn=True, names=plan.judge)
        }


def _pairing(baseline: str, measurements: Sequence[MeasuredCase]) -> Pairing:
    """Each case with the baseline's case that differs from it in nothing else."""
    partners = baselines(baseline, [measurement.case for measurement in measurements])
    by_id = {measurement.case.case_id: measurement for measurement in measurements}
    names = labels([measurement.case for measurement in measurements])
    candidates = (Pair(names[c], by_id[p.case_id], by_id[c]) for c, p in partners.items())
    return pairing_of(candidates, partial(_obstacle, names=names))


def _obstacle(pair: Pair, names: Mapping[str, str]) -> tuple[str, str]:
    """Why a pair can have no verdict: a code and a sentence, both empty if it can have one."""
    partner = names[pair.first.case.case_id]
    for side, subject in ((pair.second, ""), (pair.first, f"its baseline {partner} is ")):
        if not side.is_well:
            reason, detail = ending_reason(side)
            return reason, f"{subject}{detail}"
    return timing_obstacle(pair)


def _columns(pair: Pair, comparison: ComparedCase) -> Row:
    values: Row = {"baseline_case_id": pair.first.case.case_id}
    names_by_reason: dict[str, list[str]] = {}
    for name in WITH_COLUMNS:
        sides = comparison.percentiles.get(name)
        if sides is not None:
            values |= _percentile_columns(name, sides)
            if sides.verdict.detail:
                names_by_reason.setdefault(sides.verdict.detail, []).append(name)
    values["baseline_verdict_reason"] = join_values(
        f"{', '.join(names)}: {reason}" for reason, names in names_by_reason.items()
    )
    return values


def _percentile_columns(name: str, sides: Sides) -> Row:
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


def single_replica(case: Case) -> Case:
    """The same case with one session and one stream, on the first of its devices."""
    options = {name: value for name, value in case.options.items() if name not in MULTIPLIED}
    return replace(case, runtime=each_device_of(case.runtime)[0], options=options)


def _bases(case: Case) -> Iterator[Case]:
    """The case alone, by each name that its device has: that of no device is the usual one."""
    base = single_replica(case)
    yield base
    spec = parse_spec(base.runtime)
    if base.runtime != case.runtime and spec.device == runtime(spec.name).default_device:
        yield replace(base, runtime=str(replace(spec, device="")))


class Scaling(Comparing, heading="Scaling"):
    """Of each case that the run has measured alone as well."""

    scaling_baseline_case_id = Text("Scaling baseline")
    """The case_id of the same case with one session and one stream, on its first device."""
    replicas = Number(group="settings")
    """How many times as many runs are in flight as alone: sessions, streams, or both, on one device
    or on several."""
    speedup = Higher(group="throughput")
    """Inputs in a second over those alone."""
    scaling_efficiency = Higher("Efficiency", "throughput")
    """The speedup over the replicas: 1 where each serves as much as one alone."""
    scaling_efficiency_ci_low = Higher("Efficiency from", "confidence")
    """The lower end of its 95 % interval, from pairs of rounds."""
    scaling_efficiency_ci_high = Higher("Efficiency to", "confidence")
    """The upper end of its 95 % interval."""
    scaling_missing_reason = Text("Efficiency missing", "confidence")
    """Why it is empty although the scaling baseline was measured."""

    @staticmethod
    def fill(_: Plan, measurements: Sequence[MeasuredCase]) -> dict[str, Row]:
        by_id = {measurement.case.case_id: measurement for measurement in measurements}
        columns: dict[str, Row] = {}
        for measurement in measurements:
            if not is_multiplied(measurement.case):
                continue
            candidates = (by_id.get(base.case_id) for base in _bases(measurement.case))
            base = next((candidate for candidate in candidates if candidate is not None), None)
            if base is not None:
                columns[measurement.case.case_id] = _scaling_columns(base, measurement)
        return columns


def _scaling_columns(base: MeasuredCase, measurement: MeasuredCase) -> Row:
    values: Row = {"scaling_baseline_case_id": base.case.case_id}
    reason = _incomparable_reason(base, measurement)
    if reason:
        return values | {"scaling_missing_reason": reason}
    lanes, single = (number_of(side.row["concurrency"]) for side in (measurement, base))
    rate, single_rate = (number_of(side.row["throughput_per_s"]) for side in (measurement, base))
    assert lanes and single and rate and single_rate, "they are comparable"
    replicas, speedup = lanes / single, rate / single_rate
    values |= {"replicas": replicas, "speedup": speedup, "scaling_efficiency": speedup / replicas}
    ends = pair_rounds(base.rates, measurement.rates).ratio_interval()
    if ends is not None:
        values["scaling_efficiency_ci_low"] = ends.low / replicas
        values["scaling_efficiency_ci_high"] = ends.high / replicas
    return values


def _missing_throughput_reason(side: MeasuredCase) -> str:
    if side.case.scenario.kind not in WITH_THROUGHPUT:
        return f"in {side.case.scenario} runs begin at given times, use --scenario offline"
    if side.row["batch_size"] is None:
        return "its batch size varies or is unknown"
    return "its rounds give none"


def _incomparable_reason(base: MeasuredCase, measurement: MeasuredCase) -> str:
    """Why the two give no efficiency, '' if they give one."""
    for side, subject in ((measurement, "it"), (base, "it alone")):
        if not side.is_well:
            status = str(side.row["status"]).replace("_", " ")
            return f"{subject} is {status}: {side.row['reason'] or 'not measured'}"
        if not side.row["throughput_per_s"] or not side.row["concurrency"]:
            return f"{subject} has no known throughput: {_missing_throughput_reason(side)}"
    if base.turn != measurement.turn:
        return "one replica was not measured in turn with it: measure both in one run"
    if base.row["clock"] != measurement.row["clock"]:
        return f"the clock is {measurement.row['clock']}, alone {base.row['clock']}"
    return ""
