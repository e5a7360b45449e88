"""Which columns a table for people has."""

from __future__ import annotations

import pytest

from app.cases.column import GROUPS, Row
from app.cases.column_names import (
    MAXIMUM_COLUMNS,
    columns_for_people,
    columns_with_values,
    group_of,
    parse_columns,
    percentile_columns,
)
from app.cases.columns import COLUMNS, NAMES
from app.cases.errors import PlanError
from app.cases.units import DEFAULT


def test_every_column_has_a_group() -> None:
    assert [column.name for column in COLUMNS if column.group not in GROUPS] == []
    assert {column.group for column in COLUMNS} == set(GROUPS)


def test_a_chosen_percentile_is_in_the_group_of_p99() -> None:
    columns = percentile_columns((99.99,))
    assert [group_of(name) for name in columns] == [
        group_of(name.replace("p9999", "p99")) for name in columns
    ]


def test_columns_without_a_value_are_left_out_and_the_rest_is_grouped_in_order() -> None:
    filled_columns = {
        "status",
        "throughput_per_s",
        "latency_p50_us",
        "model",
        "threads",
        "rounds",
        "seed",
    }
    columns = columns_for_people((), NAMES, filled_columns)
    assert columns == (
        *("model", "threads", "latency_p50_us"),
        *("throughput_per_s", "rounds", "status", "seed"),
    )


def test_only_columns_of_little_importance_are_dropped() -> None:
    columns = columns_for_people((), NAMES, set(NAMES))
    important = {name for name in NAMES if group_of(name) != "other"}
    assert len(important) > MAXIMUM_COLUMNS
    assert set(columns) == important
    few = {"model", "runtime", "status"}
    other_columns = {name for name in NAMES if group_of(name) == "other"}
    assert len(columns_for_people((), NAMES, few | other_columns)) == MAXIMUM_COLUMNS


def test_words_choose_groups_and_columns_in_their_order() -> None:
    filled_columns = {"model", "latency_p50_us", "latency_p99_us", "status"}
    columns = columns_for_people(("status", "latency", "macs", "status"), NAMES, filled_columns)
    assert columns == ("status", "latency_p50_us", "latency_p99_us", "macs")
    assert set(columns_for_people(("all",), NAMES, filled_columns)) == set(NAMES)


def test_a_value_is_what_a_cell_would_show() -> None:
    rows: list[Row] = [
        {"model": "mlp", "host": "", "macs": None},
        {"model": "mlp", "valid": False, "seed": 0},
    ]
    assert columns_with_values(rows) == {"model", "valid", "seed"}


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("latency_p50", "latency_p50_us"), ("verdicts", "verdict"), ("model,,host", "identity")],
)
def test_an_unknown_column_is_refused_with_the_nearest_name(text: str, nearest: str) -> None:
    with pytest.raises(PlanError) as exc_info:
        parse_columns(text, DEFAULT)
    assert nearest in str(exc_info.value)


def test_a_column_of_a_percentile_is_known_where_the_plan_chose_it() -> None:
    assert parse_columns("latency_p9999_us", (50.0, 99.99)) == ("latency_p9999_us",)
    with pytest.raises(PlanError):
        parse_columns("latency_p9999_us", DEFAULT)
