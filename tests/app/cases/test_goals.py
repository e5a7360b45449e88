"""Targets and goals of a search, and percentiles: understood, given back, or refused."""

from __future__ import annotations

import pytest

from app.analysis.columns.table import (
    COLUMNS,
    NAMES,
    all_names,
    group_of,
    main_columns,
    percentile_columns,
)
from app.cases.column import GROUPS
from app.cases.objectives import Goal, Target
from app.cases.units import (
    name_of,
    percentile_label,
    percentile_of,
    refusal,
    share,
    with_default_percentiles,
)


def test_a_goal_is_a_latency_or_a_rate_that_may_keep_one() -> None:
    goals = {
        "p99.9": Goal(False, 99.9),
        "mean": Goal(False),
        "throughput": Goal(True),
        "throughput@p99=10ms": Goal(True, constraint=Target(99.0, 10_000.0)),
    }
    assert {word: Goal.parse(word) for word in goals} == goals
    assert [str(goal) for goal in goals.values()] == [*goals]
    assert Goal(False, 99.0).quantile == 0.99


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "is no goal"),
        ("p99=10ms", "is no goal"),
        ("mean@p50=1ms", "is no goal"),
        ("throughput@p99", "is no target"),
        ("p100", "between 0 and 100"),
    ],
)
def test_what_is_none_is_refused(word: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Goal.parse(word)


@pytest.mark.parametrize(
    ("text", "told", "allowed"),
    [
        ("p99=5ms", "p99=5ms", 0.01),
        ("p99.9=800us", "p99.9=800us", 0.001),
        ("p50 = 0.5s", "p50=500ms", 0.5),
        ("mean=2.5ms", "mean=2.5ms", 2500.0),
        ("mean=86400s", "mean=86400s", 86400e6),
    ],
)
def test_a_target_says_what_may_be_late_and_reads_back(
    text: str, told: str, allowed: float
) -> None:
    target = Target.parse(text)
    assert str(target) == told
    assert Target.parse(told) == target
    assert target.allowed == pytest.approx(allowed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no target; write it like"),
        ("p99", "is no target; write it like"),
        ("p99=5", "is no target; write it like"),
        ("p99=-5ms", "is no target; write it like"),
        ("99=5ms", "is no target; write it like"),
        ("p99=5ms,p50=1ms", "is no target; write it like"),
        ("p99=0ms", "leaves no time"),
        ("p0=5ms", "between 0 and 100"),
        ("p100=5ms", "between 0 and 100"),
        ("p99.9999999=5ms", "independent runs"),
        ("p10=5ms", "lets most requests be late"),
        ("p99=86401s", "more than a day"),
    ],
)
def test_what_is_no_target_is_refused_with_a_remedy(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        Target.parse(text)
    assert "; " in str(refusal.value)


@pytest.mark.parametrize(
    ("percentile", "name", "people"),
    [
        (50, "p50", "p50"),
        (99.9, "p999", "p99.9"),
        (99.99, "p9999", "p99.99"),
        (9.99, "p0999", "p9.99"),
        (5, "p05", "p5"),
        (0.1, "p001", "p0.1"),
        (12.5, "p125", "p12.5"),
    ],
)
def test_a_name_is_read_back_as_its_percentile(percentile: float, name: str, people: str) -> None:
    assert (name_of(percentile), percentile_label(name)) == (name, people)
    assert percentile_of(name) == percentile


@pytest.mark.parametrize("name", ["mean", "p9", "p", "p500", "p00", "px50"])
def test_what_is_no_name_of_a_percentile_is_none(name: str) -> None:
    assert percentile_of(name) is None
    assert percentile_label(name) == name


@pytest.mark.parametrize("percentile", [0, 100, -1, 101, float("nan"), float("inf"), 99.999999])
def test_what_no_samples_support_is_refused_with_a_remedy(percentile: float) -> None:
    error = refusal(percentile)
    assert error is not None
    cause, remedy = error.cause, error.remedy
    assert cause and remedy


def test_chosen_ones_come_after_those_of_every_row() -> None:
    assert with_default_percentiles((99.99, 50, 10)) == (50, 90, 95, 99, 99.9, 10, 99.99)
    assert [refusal(p) for p in with_default_percentiles((99.99, 99.99999, 0.001))] == [None] * 8
    assert share(99.9) == 0.999


def test_every_column_has_a_group_and_a_chosen_percentile_that_of_p99() -> None:
    assert {column.group for column in COLUMNS} == set(GROUPS)
    for name in percentile_columns((99.99,)):
        assert group_of(name) == group_of(name.replace("p9999", "p99"))


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
