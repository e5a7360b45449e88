"""Percentile intervals: what the design promises, and that they cover what they claim."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from app.stats.estimates import Rounds, typical_quantile
from app.stats.patterns import fence
from app.stats.quantiles import (
    clock_tick,
    needed_samples,
    order_statistic,
    rank_interval,
    ratio_resolution,
)
from app.stats.verdict import difference, judge


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


@pytest.mark.parametrize("quantile", [0.001, 0.999])
def test_ranks_are_exact_for_as_many_samples_as_a_long_round_has(quantile: float) -> None:
    ranks = rank_interval(20_000_000, quantile)
    assert ranks is not None
    low, high = ranks
    distribution = binom(20_000_000, quantile)
    assert distribution.cdf(low - 1) <= 0.025 < distribution.cdf(low)
    assert distribution.sf(high - 1) <= 0.025 < distribution.sf(high - 2)


def test_order_statistic_is_a_sample_that_occurred() -> None:
    ascending = np.arange(1.0, 101.0)
    assert order_statistic(ascending, 0.5) == 50.0
    assert order_statistic(ascending, 0.99) == 99.0
    assert order_statistic(ascending, 0.999) == 100.0


LEVEL_US, RUNS, TRIES = 1.23, 2000, 40


def read_on_a_clock(latency_us: np.ndarray, tick_us: float, rng: np.random.Generator) -> np.ndarray:
    """What a clock that counts in ticks shows, whatever its phase at the start of each run."""
    phase = rng.random(len(latency_us)) * tick_us
    return np.floor((phase + latency_us) / tick_us) * tick_us


def rounds(rng: np.random.Generator, count: int, tick_us: float, level_us: float) -> Rounds:
    """Processes that differ by 1 %, runs by 2 %."""
    latencies = []
    for _ in range(count):
        round_us = level_us * np.exp(0.01 * rng.standard_normal())
        latency = round_us * np.exp(0.02 * rng.standard_normal(RUNS))
        latencies.append(read_on_a_clock(latency, tick_us, rng))
    return Rounds.of(latencies)


@pytest.mark.parametrize(
    ("count", "level_us", "ratio"),
    [*product((3, 8), (1.2, 1.2499, 1.27), (1.002,)), (8, 1.23, 1.63 / 1.23)],
)
def test_a_tick_makes_no_verdict_and_several_do(count: int, level_us: float, ratio: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(TRIES):
        first, second = (
            typical_quantile(rounds(rng, count, 0.1, level), 0.5)
            for level in (level_us, level_us * ratio)
        )
        assert first.value and second.value
        resolution = ratio_resolution(first.value, first.tick, second.value, second.tick)
        (verdict,) = judge([difference(first.by_round, second.by_round, True, resolution)])
        assert (verdict.word == "slower") == (ratio > 1.1) and verdict.word != "faster"


@pytest.mark.parametrize("tick_us", [0.001, 0.032, 0.1, 0.5, 1.0])
def test_the_tick_is_found(tick_us: float) -> None:
    rng = np.random.default_rng(1)
    latency = 8.0 * np.exp(0.05 * rng.standard_normal(5000))
    tick = clock_tick(np.sort(read_on_a_clock(latency, tick_us, rng)))
    assert tick == pytest.approx(tick_us, rel=1e-6)


def test_the_tick_of_events_that_are_stored_in_single_precision_is_found() -> None:
    rng = np.random.default_rng(2)
    latency_us = 2000.0 * np.exp(0.05 * rng.standard_normal(5000))
    stored_ms = np.float32(read_on_a_clock(latency_us, 0.5, rng) * 1e-3)
    assert clock_tick(np.sort(stored_ms.astype(float) * 1e3)) == pytest.approx(0.5, rel=0.01)


def test_two_levels_are_no_tick_and_a_clock_finer_than_the_noise_has_none() -> None:
    assert clock_tick(np.array([1.0] * 980 + [90.0] * 20)) == 1.0
    assert clock_tick(np.array([5.0, 5.0])) == 5.0
    assert clock_tick(np.sort(np.random.default_rng(3).normal(8.0, 0.1, 5000))) == 0.0


@pytest.mark.parametrize("count", [3, 8])
def test_intervals_of_a_coarse_clock_hold_the_truth(count: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(TRIES):
        interval = typical_quantile(rounds(rng, count, 0.1, LEVEL_US), 0.5).interval
        assert interval is not None and interval.low <= LEVEL_US <= interval.high


def test_noise_on_a_coarse_clock_has_no_outliers() -> None:
    rng = np.random.default_rng(7)
    latency = 9.4 * np.exp(0.05 * rng.standard_normal(5000))
    latencies = np.sort(read_on_a_clock(latency, 1.0, rng))
    assert np.count_nonzero(latencies > fence(latencies)) <= 5
