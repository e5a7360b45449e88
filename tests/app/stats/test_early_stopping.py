"""MLPerf's early stopping: the counts of its rules, and what published summaries left out."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from app.stats.tails import early_stopping, most_above, needed_for


@pytest.mark.parametrize(
    ("quantile", "above", "needed"), [(0.99, 0, 459), (0.99, 1, 662), (0.9, 0, 44), (0.9, 1, 64)]
)
def test_so_many_samples_are_needed(quantile: float, above: int, needed: int) -> None:
    assert needed_for(above, quantile) == needed
    assert most_above(needed, quantile) == above
    assert most_above(needed - 1, quantile) == above - 1


@pytest.mark.parametrize(("count", "discarded"), [(2048, 172), (2116, 178), (2145, 181)])
def test_as_many_are_left_out_as_published_summaries_say(count: int, discarded: int) -> None:
    """Of single-stream submissions: "Would discard 172 highest latency queries" of 2048."""
    result = early_stopping(np.arange(count, dtype=float), 0.9)
    assert result.valid and result.estimate == count - 1 - discarded


@pytest.mark.parametrize("count", [64, 150, 333])
def test_a_system_that_just_fails_would_pass_in_one_of_a_hundred_runs(count: int) -> None:
    """The binomial tail, term by term."""
    violations = most_above(count, 0.9)

    def passes(most: int) -> float:
        return sum(comb(count, k) * 0.1**k * 0.9 ** (count - k) for k in range(most + 1))

    assert passes(violations) <= 0.01 < passes(violations + 1)


def test_too_few_samples_are_not_valid_and_say_how_many_it_takes() -> None:
    result = early_stopping(np.arange(661, dtype=float), 0.99)
    assert not result.valid and result.estimate is None
    assert result.reason == "661 of 662 samples"
    enough = early_stopping(np.arange(662, dtype=float), 0.99)
    assert enough.valid and enough.reason == "" and enough.estimate == 661.0
