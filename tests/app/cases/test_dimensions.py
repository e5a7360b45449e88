"""The table of dimensions: whatever distinguishes cases is in it, and everything obeys it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from app.analysis.columns.table import BY_NAME as COLUMNS
from app.analysis.comparison.measured_case import names
from app.analysis.insights.insight import Fact, group_except
from app.cases.case import Case
from app.cases.column import Value
from app.cases.dimensions import (
    DIMENSIONS,
    EMPTY_IS_VALUE,
    GRID,
    MATCHING,
    SETTINGS,
    matching_key,
)
from app.cases.scenario import Batcher, Condition, Scenario
from app.cases.user_files import UserFiles
from app.formatting.case_labels import case_label, labels
from app.plan.settings.sweep import Sweep

CASE = Case("mlp", "ort-cpu", axes={"batch": 1})
VALUES: dict[str, Any] = {
    "model": "cnn_tiny",
    "runtime": "torch-cpu",
    "precision": "int8",
    "threads": 2,
    "scenario": Scenario.parse("paced:20us"),
    "condition": Condition.parse("cold:64MB"),
    "batcher": Batcher.parse("max=8,wait=2ms"),
    "axes": {"batch": 8},
    "options": {"graph_optimization": "basic"},
    "given": UserFiles(rotate_inputs=True),
    "host": "spring",
    "wait_policy": "sleep",
}
_FIELD = {"user_files": "given"}
_ROW_DIMENSIONS = ("concurrency", "clock", "boundary")
"""Dimensions that only a measured row has."""


def test_every_field_that_names_a_case_is_a_dimension() -> None:
    identity_fields = {field.name for field in fields(Case)} - {"suite", "naming", "case_id"}
    dimension_names = {
        _FIELD.get(dimension.name, dimension.name) for dimension in DIMENSIONS
    } - set(_ROW_DIMENSIONS)
    # The wait policy is a part of the scenario.
    assert identity_fields - {"wait_policy"} == dimension_names


def test_what_a_plan_varies_is_a_list_of_its_grid() -> None:
    lists = {"precisions", "threads", "scenarios", "conditions", "batcher"}
    assert {dimension.key for dimension in GRID} == lists <= set(Sweep.model_fields)


_ARRIVALS = ("scenario", "gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
_SHARED = ("model", "precision", "threads", *_ARRIVALS, "wait_policy", "condition", "batcher")
"""Both of what is compared and of what plots group by."""


def test_rows_are_compared_and_grouped_by_these_columns() -> None:
    compared = {*_SHARED, "axes", "user_files", "concurrency", "clock", "boundary", "host"}
    grouped = {*_SHARED, "runtime", "batch_size", "sequence_length", "host"}
    assert (set(MATCHING), len(MATCHING)) == (compared, len(compared))
    assert (set(SETTINGS), len(SETTINGS)) == (grouped, len(grouped))
    assert {*EMPTY_IS_VALUE} == {"condition", "batcher", "options"}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_two_cases_that_differ_in_one_dimension_have_different_labels(name: str) -> None:
    other = replace(CASE, **{name: VALUES[name]})
    assert other.case_id != CASE.case_id
    texts = labels([CASE, other])
    assert len(set(texts.values())) == 2
    assert not any("case " in text for text in texts.values()), "words, not an id"
    if name != "given":
        assert case_label(CASE) != case_label(other)


@pytest.mark.parametrize("column", MATCHING)
def test_rows_that_differ_in_a_matching_column_are_never_compared(column: str) -> None:
    row = {**dict.fromkeys(MATCHING), "model": "mlp"}
    values: tuple[Value, Value] = ("a", "b") if COLUMNS[column].kind == "text" else (1, 2)
    facts = [
        Fact(replace(CASE, options={"number": index}), {**row, column: value}, 10.0, None)
        for index, value in enumerate(values)
    ]
    assert not group_except(facts, option="number")
    keys = [matching_key(fact.row) for fact in facts]
    assert len(set(names(keys).values())) == 2, "and their groups have different names"
