"""The dimensions of a case: one table of everything that distinguishes two cases.

Comparisons, rankings, findings, labels, settings of plots and tables read it, so that no list of
these exists elsewhere. A new dimension is an entry here, a field of `Case`, a setting in
`app.plan.settings.sweep.Sweep` if a plan varies it, and the declarations of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.cases.case import Case
from app.cases.column import Row, Value, pairs_in
from app.cases.scenario import Condition, Scenario, parse_batcher

Within = Literal["run", "model", "runtime"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """Something in which cases may differ.

    `matching` are columns that rows share where they are compared; none if the dimension is what a
    comparison is about. `settings` are the columns that plots and matrices group cases by. `labels`
    gives a case's words, which distinguish it `within` the run, or within its model or runtime,
    which have options and sizes of their own. `table_column` is the column of the terminal's table;
    `when_varied` leaves it out where all rows share it. An empty cell of the dimension is a value
    of its own where `empty_is_value`, else it is missing. A plan varies the list `key` of a grid;
    `parse` turns its values into values of the field `name`, and `row` fills the columns.
    """

    name: str
    labels: Callable[[Case], list[str]]
    within: Within = "run"
    matching: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    table_column: str = ""
    when_varied: bool = False
    empty_is_value: bool = False
    key: str = ""
    parse: Callable[[Any], Any] = str
    row: Callable[[Case], Row] = lambda case: {}


def _scenario_words(case: Case) -> list[str]:
    policy = f" ({case.wait_policy})" if case.wait_policy != "spin" else ""
    return [case.scenario.words.replace("_", " ") + policy]


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


_SCENARIO = (
    "scenario",
    "gap_us",
    "offered_rate_hz",
    "burst_size",
    "burst_period_us",
    "wait_policy",
)

DIMENSIONS: tuple[Dimension, ...] = (
    Dimension("model", lambda case: [], matching=("model",), settings=("model",)),
    Dimension("runtime", lambda case: [], settings=("runtime",)),
    Dimension(
        "precision",
        lambda case: [case.precision],
        matching=("precision",),
        settings=("precision",),
        table_column="precision",
        key="precisions",
        row=lambda case: {"precision_requested": case.precision},
    ),
    Dimension(
        "threads",
        lambda case: [f"{case.threads or 'auto'} thread{'s' * (case.threads != 1)}"],
        matching=("threads",),
        settings=("threads",),
        table_column="threads",
        key="threads",
        parse=lambda threads: threads,
        row=lambda case: {"threads": case.threads},
    ),
    Dimension(
        "scenario",
        _scenario_words,
        matching=_SCENARIO,
        settings=_SCENARIO,
        table_column="scenario",
        key="scenarios",
        parse=Scenario.parse,
        row=_scenario_columns,
    ),
    Dimension(
        "condition",
        lambda case: ["no condition"] if case.condition.kind == "none" else [str(case.condition)],
        matching=("condition",),
        settings=("condition",),
        table_column="condition",
        empty_is_value=True,
        key="conditions",
        parse=Condition.parse,
        row=lambda case: {
            "condition": None if case.condition.kind == "none" else str(case.condition)
        },
    ),
    Dimension(
        "batcher",
        lambda case: ["no batcher" if case.batcher is None else f"batcher {case.batcher}"],
        matching=("batcher",),
        settings=("batcher",),
        table_column="batcher",
        empty_is_value=True,
        key="batcher",
        parse=parse_batcher,
        row=lambda case: {"batcher": None if case.batcher is None else str(case.batcher)},
    ),
    Dimension(
        "axes",
        lambda case: [f"{name} {case.axes[name]}" for name in sorted(case.axes)],
        within="model",
        matching=("axes",),
        settings=("batch_size", "sequence_length"),
        table_column="sequence_length",
    ),
    Dimension(
        "options",
        lambda case: [f"{name}={value}" for name, value in sorted(case.options.items())],
        within="runtime",
        table_column="options",
        empty_is_value=True,
    ),
    Dimension(
        "user_files",
        lambda case: str(case.given).split(),
        within="model",
        matching=("user_files",),
    ),
    Dimension("concurrency", lambda case: [], matching=("concurrency",)),
    Dimension("clock", lambda case: [], matching=("clock",), table_column="clock"),
    Dimension("boundary", lambda case: [], matching=("boundary",)),
    Dimension(
        "host",
        lambda case: [f"on {case.host}"] if case.host else [],
        matching=("host",),
        settings=("host",),
        table_column="host",
        when_varied=True,
    ),
)
BY_NAME = {dimension.name: dimension for dimension in DIMENSIONS}
GRID = tuple(dimension for dimension in DIMENSIONS if dimension.key)
"""Dimensions that a plan varies by a list of a grid: not models, runtimes, sizes and options."""
MATCHING = tuple(column for dimension in DIMENSIONS for column in dimension.matching)
"""The columns that rows share where they are compared, the model first."""
SETTINGS = tuple(column for dimension in DIMENSIONS for column in dimension.settings)
"""The columns by which plots and matrices group cases."""
EMPTY_IS_VALUE = frozenset(
    column
    for dimension in DIMENSIONS
    if dimension.empty_is_value
    for column in (dimension.table_column, *dimension.settings)
)
"""The columns in which an empty cell is a value like others: no condition, no batcher."""

UNLABELLED = ("precision", "scenario", "condition", "clock")
"""Columns whose values need no name before them."""
_LABELS = {
    "axes": "{}",
    "host": "on {}",
    "gap_us": "gap {:g} µs",
    "offered_rate_hz": "{:g}/s",
    "burst_size": "{} at once",
    "burst_period_us": "every {:g} µs",
    **dict.fromkeys(UNLABELLED, "{}"),
}


def value_label(column: str, value: Value) -> str:
    """A value of a column as a word of a label: `gap 20 µs`, `batch 1 sequence 128`."""
    is_axes = column == "axes"
    value_text = " ".join(f"{k} {v}" for k, v in pairs_in(value).items()) if is_axes else value
    return _LABELS.get(column, f"{column} {{}}").format(value_text)


def without(*names: str) -> tuple[str, ...]:
    """The columns of `MATCHING` without the columns of these dimensions."""
    left_out = {column for name in names for column in BY_NAME[name].matching}
    return tuple(column for column in MATCHING if column not in left_out)


def matching_key(row: Row, columns: Sequence[str] = MATCHING) -> tuple[Value, ...]:
    """What a row shares with those that it is compared with."""
    return tuple(row.get(name) for name in columns)


def group_of(case: Case, dimension: Dimension) -> str:
    """The cases among which a dimension distinguishes this one."""
    return {"run": "", "model": case.model, "runtime": case.runtime}[dimension.within]
