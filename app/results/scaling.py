"""Several replicas of a case against one of them: how much more they serve together.

A replica is a copy of the model, or a lane of one, that takes its share of the same work at the
same time, on one device or on one of several. Rounds of all cases interleave in a seeded order, so
a round of several and the round of the same number alone saw the same machine: together they are
one observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.machine.available import each_device_of, runtime
from app.results.measured import Measured
from app.results.throughput import WITH_THROUGHPUT
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import difference, interval_of
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec

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
            found[one.case.case_id] = _columns(base, one)
    return found


def _columns(base: Measured, one: Measured) -> Row:
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
