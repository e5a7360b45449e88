"""What a sweep varies beside models, runtimes, sizes and options: one table of these axes.

Each is a list in a grid of the plan, a flag of the command line, a field of a case, one or more
columns of its row, and words in its label. A new axis is a line here, a field of `Case`, a list
in `app.plan.plan.Sweep` and its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.cases.batcher import NO_BATCHER, parsed
from app.cases.case import Case
from app.cases.column import Row
from app.cases.condition import Condition
from app.cases.errors import suggestion
from app.cases.scenario import Scenario
from exporters.invalid_value import InvalidValue
from exporters.types import PRECISIONS


@dataclass(frozen=True, slots=True)
class Axis:
    """`field` is the case's, `key` the grid's, `flag` with `metavar` and `help` the command's.

    `parse` makes of one word of the flag what the grid holds (ValueError in one sentence),
    `value` of that what the case holds. `told` are a case's words for it, `row` its columns,
    and `column` is the one by which tables tell rows apart. With `repeated` the flag is given once
    for each value, since these hold commas.
    """

    field: str
    key: str
    flag: str
    metavar: str
    help: str
    parse: Callable[[str], Any]
    value: Callable[[Any], Any]
    told: Callable[[Case], str]
    row: Callable[[Case], Row]
    column: str
    repeated: bool = False


def _precision(word: str) -> str:
    if word not in PRECISIONS:
        raise InvalidValue(f"{word} is not known", suggestion(word, PRECISIONS))
    return word


def whole(word: str, least: int) -> int:
    """A whole number of at least so much; ValueError with one sentence."""
    try:
        number = int(word)
    except ValueError:
        number = least - 1
    if number < least:
        raise InvalidValue(f"{word} is no whole number of at least {least}", "give one that is")
    return number


def _scenario_words(case: Case) -> str:
    policy = f" ({case.wait_policy})" if case.wait_policy != "spin" else ""
    return case.scenario.words.replace("_", " ") + policy


def _scenario_columns(case: Case) -> Row:
    scenario = case.scenario
    return {
        "scenario": scenario.kind,
        "gap_us": scenario.gap_us if scenario.kind == "paced" else None,
        "offered_rate_hz": scenario.arrivals_hz or None,
        "burst_size": scenario.count or None,
        "burst_period_us": scenario.period_us or None,
        "wait_policy": case.wait_policy if scenario.waits else None,
    }


def scenario_of(row: Row) -> Scenario:
    """The scenario that the columns of a row stand for."""
    gap_us, rate_hz, count, period_us = (
        row[name] or 0 for name in ("gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
    )
    return Scenario(row["scenario"], gap_us, rate_hz, count, period_us)  # type: ignore[arg-type]


AXES: tuple[Axis, ...] = (
    Axis(
        "precision",
        "precisions",
        "--precision",
        "P,…",
        f"{', '.join(PRECISIONS)}; default fp32",
        _precision,
        lambda precision: precision,
        lambda case: case.precision,
        lambda case: {"precision_requested": case.precision},
        "precision",
    ),
    Axis(
        "threads",
        "threads",
        "--threads",
        "N,…",
        "default 1; 0 leaves it to the engine",
        lambda word: whole(word, least=0),
        lambda threads: threads,
        lambda case: f"{case.threads or 'auto'} thread{'s' * (case.threads != 1)}",
        lambda case: {"threads": case.threads},
        "threads",
    ),
    Axis(
        "scenario",
        "scenarios",
        "--scenario",
        "S,…",
        "closed_loop (default), paced:20us, rate:200/s, poisson:200/s, burst:8@10ms, "
        "multistream:8, offline or ahead:8 (queued on a GPU)",
        lambda word: str(Scenario.parse(word)),
        Scenario.parse,
        _scenario_words,
        _scenario_columns,
        "scenario",
    ),
    Axis(
        "condition",
        "conditions",
        "--condition",
        "C,…",
        "cold:64MB (caches polluted between runs), sustained:30min (first minute against last), "
        "with:MODEL (another model at work), shapes:FILE (one session for the shapes of a "
        "CSV), or none (default)",
        lambda word: str(Condition.parse(word)),
        Condition.parse,
        lambda case: "no condition" if case.condition.kind == "none" else str(case.condition),
        lambda case: {"condition": None if case.condition.kind == "none" else str(case.condition)},
        "condition",
    ),
    Axis(
        "batcher",
        "batcher",
        "--batcher",
        "max=N,wait=TIME",
        "a dynamic batcher before the model, such as max=8,wait=2ms; give it again for another, "
        "none for going without",
        lambda word: str(parsed(word) or NO_BATCHER),
        parsed,
        lambda case: "no batcher" if case.batcher is None else f"batcher {case.batcher}",
        lambda case: {"batcher": None if case.batcher is None else str(case.batcher)},
        "batcher",
        repeated=True,
    ),
)
