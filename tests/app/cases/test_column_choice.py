"""Which columns a table for people has."""

from __future__ import annotations

import pytest

from app.cases.column import GROUPS
from app.cases.column_names import (
    all_names,
    group_of,
    main_columns,
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


def test_without_words_every_run_has_the_same_columns() -> None:
    columns = main_columns((), NAMES)
    assert columns == main_columns((), all_names([{"latency_p9999_us": 1.0}]))
    assert len(columns) == len(set(columns)) <= 56
    assert set(columns) <= set(NAMES)
    assert {"rss_peak_mib", "compile_ms", "latency_p50_us", "output_ok", "rounds"} <= set(columns)


def test_words_choose_groups_and_columns_in_their_order() -> None:
    columns = main_columns(("status", "throughput", "macs", "status"), NAMES)
    throughput = [name for name in NAMES if group_of(name) == "throughput"]
    assert columns == ("status", *throughput, "macs")
    assert set(main_columns(("all",), NAMES)) == set(NAMES)


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
