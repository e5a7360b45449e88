"""A percentile's column names it and no other, and what no row could tell is refused."""

from __future__ import annotations

import pytest

from app.cases.units import (
    name_of,
    percentile_label,
    percentile_of,
    refusal,
    share,
    with_default_percentiles,
)


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
