"""Correlation between rounds: estimated, rarely seen in independent rounds, and it widens."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from app.stats.intervals import (
    MOSTLY_DEPENDENT,
    RARELY_DEPENDENT,
    RoundCorrelation,
    interval_between,
    round_correlation,
)
from tests.simulated.machines import fractional_noise

TRIES = 400
Draw = Callable[[np.random.Generator, int], np.ndarray]

INDEPENDENT: dict[str, Draw] = {
    "normal": lambda rng, rounds: rng.standard_normal(rounds),
    "skewed": lambda rng, rounds: rng.exponential(size=rounds),
    "heavy tails": lambda rng, rounds: rng.standard_t(3, rounds),
}


def wandering(rng: np.random.Generator, rounds: int) -> np.ndarray:
    return fractional_noise(rng, rounds, 0.75)


def drawn(draw: Draw, rounds: int, tries: int = TRIES) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.exp(0.03 * draw(rng, rounds)) for _ in range(tries)]


@pytest.mark.parametrize("rounds", [5, 8, 16])
@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rounds_rarely_correlate(kind: str, rounds: int) -> None:
    correlations = [round_correlation(figures) for figures in drawn(INDEPENDENT[kind], rounds)]
    assert (
        abs(
            np.mean(
                [correlation.lag1 for correlation in correlations if correlation.lag1 is not None]
            )
        )
        < 0.05
    )
    assert np.mean([correlation.is_significant for correlation in correlations]) <= 0.025 + 0.02
    assert np.mean([correlation.inflation for correlation in correlations]) < 1.3


def test_a_correlation_of_neighbours_is_estimated() -> None:
    """H = 0.75 has a correlation of 2^0.5 - 1 = 0.41 at lag 1."""
    lags = [round_correlation(figures).lag1 for figures in drawn(wandering, 400, 40)]
    assert np.mean([lag1 for lag1 in lags if lag1 is not None]) == pytest.approx(0.41, abs=0.05)


def test_the_variance_under_independence_is_that_of_all_orders() -> None:
    rng = np.random.default_rng(5)
    figures = np.exp(rng.exponential(size=7))
    deviations = np.log(figures) - np.log(figures).mean()
    orders = [rng.permutation(deviations) for _ in range(20_000)]
    lags = np.array([order[1:] @ order[:-1] / (deviations @ deviations) for order in orders])
    limit = 2.05 * lags.std()
    for place, lag in enumerate(lags[:300]):
        is_significant = round_correlation(np.exp(orders[place])).is_significant
        if abs(lag + 1 / 7 - limit) > 0.01:
            assert is_significant == (lag + 1 / 7 > limit)


def test_intervals_of_wandering_rounds_hold_more_often_with_the_inflation() -> None:
    hits = np.zeros(2)
    for figures in drawn(wandering, 16):
        for index, inflation in enumerate((1.0, round_correlation(figures).inflation)):
            interval = interval_between(figures, inflation=inflation)
            assert interval is not None
            hits[index] += interval.low <= 1.0 <= interval.high
    assert hits[1] - hits[0] >= 0.05 * TRIES


def test_rounds_are_put_in_the_order_of_their_starts() -> None:
    figures = [100.0, 101.0, 103.0, 104.0, 107.0, 108.0]
    starts = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    order = [3, 0, 5, 1, 4, 2]
    expected = round_correlation(figures, starts)
    in_order = round_correlation([figures[k] for k in order], [starts[k] for k in order])
    assert in_order == expected and expected.inflation > 1.0
    assert expected.span_s == 50.0 and expected.is_close(False)


def test_rounds_far_apart_correlate_less_than_neighbours() -> None:
    """The same figures, the second half an hour later: the halves are nearly independent."""
    figures = [100.0, 101.0, 102.0, 103.0, 99.0, 100.0, 101.0, 102.0]
    near_correlation = round_correlation(figures, [10.0 * k for k in range(8)])
    far_correlation = round_correlation(figures, [10.0 * k + 3600.0 * (k >= 4) for k in range(8)])
    assert 1.0 < far_correlation.inflation < near_correlation.inflation
    assert (
        near_correlation.span_s == 70.0
        and not near_correlation.is_close(False)
        and near_correlation.is_close(True)
    )


@pytest.mark.parametrize(
    ("figures", "starts"),
    [([1.0, 2.0], ()), ([5.0] * 8, ()), ([0.0, 1.0, 2.0, 3.0, 4.0], ())],
    ids=["no interval", "equal rounds", "a latency of 0"],
)
def test_what_shows_no_correlation_widens_nothing(
    figures: list[float], starts: tuple[float, ...]
) -> None:
    assert round_correlation(figures, starts) == RoundCorrelation(len(figures))


def test_three_rounds_are_widened_by_the_prior_alone() -> None:
    """By the definition: rounds of lag-1 correlation r whose mean pair correlates by c."""
    rho = np.arange(1, 9) / 10.0
    pairs = rho * (2.0 + 2.0 ** (np.log2(1.0 + rho) - 1.0)) / 3.0
    factors = (1.0 + 2.0 * pairs) / (1.0 - pairs)
    for prior in (RARELY_DEPENDENT, MOSTLY_DEPENDENT):
        expected = np.sqrt(1.0 - prior + prior * factors.mean())
        for figures in ([1.0, 2.0, 3.0], [5.0, 1.0, 2.0]):
            correlation = round_correlation(figures, prior=prior)
            assert correlation.inflation == pytest.approx(expected)
            assert correlation.lag1 is None and not correlation.is_significant


def test_intervals_of_mostly_dependent_rounds_hold_on_a_machine_with_long_memory() -> None:
    """Of 5 to 32 rounds, for which intervals of independent rounds hold less and less often."""
    for rounds, tries in ((5, TRIES), (8, TRIES), (32, 200)):
        hits = np.zeros(2)
        for figures in drawn(wandering, rounds, tries):
            widening = round_correlation(figures, prior=MOSTLY_DEPENDENT).inflation
            for index, inflation in enumerate((1.0, widening)):
                interval = interval_between(figures, inflation=inflation)
                assert interval is not None
                hits[index] += interval.low <= 1.0 <= interval.high
        assert hits[0] < 0.86 * tries
        assert hits[1] >= 0.91 * tries


def test_many_rounds_take_little_memory() -> None:
    """All pairs of 20,000 rounds would be 200 million."""
    figures = np.exp(0.03 * np.random.default_rng(4).standard_normal(20_000))
    tracemalloc.start()
    correlation = round_correlation(figures, np.arange(20_000.0).tolist())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert correlation.inflation == pytest.approx(1.0, abs=0.1)
    assert peak < 20_000_000
