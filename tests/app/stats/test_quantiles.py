"""Percentile intervals: what the design promises, and that they cover what they claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from app.stats.quantiles import (
    needed_samples,
    order_statistic,
    rank_interval,
)


@pytest.mark.parametrize(
    ("quantile", "count"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)]
)
def test_needed_samples_are_the_published_ones(quantile: float, count: int) -> None:
    assert needed_samples(quantile) == count
    assert rank_interval(count, quantile) is not None
    assert rank_interval(count - 1, quantile) is None


@given(st.integers(6, 5000), st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]))
def test_ranks_keep_each_tail_within_its_share_and_are_the_tightest(
    count: int, quantile: float
) -> None:
    ranks = rank_interval(count, quantile)
    if ranks is None:
        assert count < needed_samples(quantile)
        return
    low, high = ranks
    assert 1 <= low < high <= count
    distribution = binom(count, quantile)
    assert distribution.cdf(low - 1) <= 0.025 < distribution.cdf(low)
    assert distribution.sf(high - 1) <= 0.025 + 1e-12
    assert distribution.sf(high - 2) > 0.025 - 1e-12


@pytest.mark.parametrize("quantile", [0.001, 0.5, 0.99, 0.999])
@pytest.mark.parametrize("count", [50_000, 1_000_003, 20_000_000])
def test_ranks_are_exact_for_as_many_samples_as_a_long_round_has(
    count: int, quantile: float
) -> None:
    ranks = rank_interval(count, quantile)
    assert ranks is not None
    low, high = ranks
    distribution = binom(count, quantile)
    assert distribution.cdf(low - 1) <= 0.025 < distribution.cdf(low)
    assert distribution.sf(high - 1) <= 0.025 < distribution.sf(high - 2)


def test_interval_covers_the_true_quantile_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    true_p90 = -np.log(0.1)
    hits = 0
    for _ in range(2000):
        ascending, ranks = np.sort(rng.exponential(size=100)), rank_interval(100, 0.9)
        assert ranks is not None
        hits += ascending[ranks[0] - 1] <= true_p90 <= ascending[ranks[1] - 1]
    # 95 % less three standard errors of 2,000 trials
    assert hits / 2000 >= 0.935


def test_order_statistic_is_a_sample_that_occurred() -> None:
    ascending = np.arange(1.0, 101.0)
    assert order_statistic(ascending, 0.5) == 50.0
    assert order_statistic(ascending, 0.99) == 99.0
    assert order_statistic(ascending, 0.999) == 100.0
