"""As how many independent runs a tail counts, against what many rounds show by their spread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import lfilter

from app.stats.tails import independent_runs

RUNS, ROUNDS, TRIES, MANY = 5000, 8, 15, 300
Draw = Callable[[np.random.Generator], np.ndarray]


def independent(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(RUNS)


def linked(rho: float) -> Draw:
    """Neighbouring runs correlate."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal(RUNS)
        noise[1:] *= np.sqrt(1.0 - rho**2)
        series: np.ndarray = lfilter([1.0], [1.0, -rho], noise)
        return series

    return draw


def bursts(length: float, every: float) -> Draw:
    """Spells of slow runs, of random lengths at random distances."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        latency = rng.standard_normal(RUNS)
        place = rng.exponential(every)
        while place < RUNS:
            end = place + 1 + rng.exponential(length)
            latency[int(place) : int(end)] += 6.0
            place = end + rng.exponential(every)
        return latency

    return draw


def measured(draw: Draw, quantile: float) -> tuple[float, float]:
    """The median estimate, and the number of independent runs with the same spread of the share."""
    rng = np.random.default_rng(1)
    many = [draw(rng) for _ in range(MANY)]
    limit = float(np.quantile(np.concatenate(many), quantile))
    shares = np.array([(latencies > limit).mean() for latencies in many])
    truth = shares.mean() * (1.0 - shares.mean()) / shares.var(ddof=1)
    estimates = []
    for _ in range(TRIES):
        samples = [draw(rng) for _ in range(ROUNDS)]
        exceedances = [latencies > np.quantile(latencies, quantile) for latencies in samples]
        estimates.append(np.mean(independent_runs(exceedances)))
    return float(np.median(estimates)), float(truth)


@pytest.mark.parametrize("quantile", [0.9, 0.99])
def test_independent_runs_count_each(quantile: float) -> None:
    estimate, _ = measured(independent, quantile)
    assert 0.88 * RUNS <= estimate <= RUNS


@pytest.mark.parametrize(
    ("draw", "quantile"),
    [
        (linked(0.5), 0.9),
        (linked(0.9), 0.9),
        (linked(0.9), 0.99),
        (linked(0.95), 0.99),
        (bursts(5, 800), 0.99),
        (bursts(20, 1500), 0.9),
    ],
    ids=["AR 0.5", "AR 0.9", "AR 0.9, p99", "AR 0.95, p99", "bursts of 5", "bursts of 20"],
)
def test_dependent_runs_count_as_their_spread_says(draw: Draw, quantile: float) -> None:
    estimate, truth = measured(draw, quantile)
    assert truth / 1.6 <= estimate <= 1.6 * truth


def test_slow_runs_in_a_row_count_as_one() -> None:
    exceedances = np.zeros(1000, bool)
    exceedances[100:120] = True
    (count,) = independent_runs([exceedances])
    assert count == pytest.approx(1000 / 20)


def test_a_round_without_exceedances_says_nothing_against_its_length() -> None:
    assert independent_runs([np.zeros(7, bool), np.zeros(0, bool)]) == [7, 0]
