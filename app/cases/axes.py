"""What a sweep varies beside models, runtimes, sizes and options: one table of these axes.

Each is a list in a grid of the plan, a field of a case, one or more columns of its row, and words
in its label. A new axis is a line here, a field of `Case`, a setting in
`app.plan.settings.sweep.Sweep` and its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.cases.case import Case
from app.cases.column import Row
from app.cases.scenario import Condition, Scenario, parsed


@dataclass(frozen=True, slots=True)
class Axis:
    """`field` is the case's, `key` the grid's, whose row in the table of settings has its flag.

    `value` makes of what the grid holds what the case holds. `told` are a case's words for it,
    `row` its columns, and `column` is the one by which tables tell rows apart.
    """

    field: str
    key: str
    value: Callable[[Any], Any]
    told: Callable[[Case], str]
    row: Callable[[Case], Row]
    column: str


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
        lambda precision: precision,
        lambda case: case.precision,
        lambda case: {"precision_requested": case.precision},
        "precision",
    ),
    Axis(
        "threads",
        "threads",
        lambda threads: threads,
        lambda case: f"{case.threads or 'auto'} thread{'s' * (case.threads != 1)}",
        lambda case: {"threads": case.threads},
        "threads",
    ),
    Axis(
        "scenario",
        "scenarios",
        Scenario.parse,
        _scenario_words,
        _scenario_columns,
        "scenario",
    ),
    Axis(
        "condition",
        "conditions",
        Condition.parse,
        lambda case: "no condition" if case.condition.kind == "none" else str(case.condition),
        lambda case: {"condition": None if case.condition.kind == "none" else str(case.condition)},
        "condition",
    ),
    Axis(
        "batcher",
        "batcher",
        parsed,
        lambda case: "no batcher" if case.batcher is None else f"batcher {case.batcher}",
        lambda case: {"batcher": None if case.batcher is None else str(case.batcher)},
        "batcher",
    ),
)
