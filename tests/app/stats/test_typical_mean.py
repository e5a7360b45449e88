"""The interval of a mean holds what processes and what runs leave uncertain."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.estimates import Rounds, typical_mean
from app.stats.intervals import interval_between, round_correlation


def pareto(rng: np.random.Generator, runs: int) -> np.ndarray:
    latencies: np.ndarray = 100.0 * (1.0 + 0.05 * rng.pareto(1.5, runs))
    return latencies


def test_processes_that_agree_by_chance_leave_the_uncertainty_of_their_runs() -> None:
    """The same runs in other orders: the means agree exactly, and runs are uncertain all the same.

    The standard error of a mean of 4 x 2,000 runs that spread by 20 is 20 / sqrt(8000) = 0.22.
    """
    rng = np.random.default_rng(1)
    runs = 100.0 + 20.0 * rng.standard_normal(2000)
    interval = typical_mean(Rounds.of([rng.permutation(runs) for _ in range(4)])).interval
    assert interval is not None
    assert interval.width / 2 == pytest.approx(1.96 * 0.22, rel=0.35)


def test_processes_that_differ_decide_the_interval() -> None:
    rng = np.random.default_rng(2)
    levels = np.array([100.0, 130.0, 90.0, 110.0])
    rounds = [level + 0.1 * rng.standard_normal(2000) for level in levels]
    interval = typical_mean(Rounds.of(rounds)).interval
    means = np.array([latencies.mean() for latencies in rounds])
    expected = interval_between(means, inflation=round_correlation(means).inflation)
    assert interval == expected


def test_a_heavy_tail_is_held_as_often_as_claimed() -> None:
    """Pareto 1.5 has no variance. The truth is the pseudo-median of rounds of this length."""
    rng = np.random.default_rng(3)
    logs = np.log([pareto(rng, 2000).mean() for _ in range(3000)])
    first, second = rng.integers(0, 3000, (2, 200_000))
    truth = np.exp(np.median((logs[first] + logs[second]) / 2))
    hits = 0
    for _ in range(300):
        interval = typical_mean(Rounds.of([pareto(rng, 2000) for _ in range(8)])).interval
        assert interval is not None
        hits += interval.low <= truth <= interval.high
    assert hits / 300 >= 0.93 - 0.03  # two standard errors of 300 tries


def test_two_rounds_have_a_mean_without_an_interval() -> None:
    estimate = typical_mean(Rounds.of([np.full(50, 2.0), np.full(50, 8.0)]))
    assert (estimate.value, estimate.interval, estimate.absent) == (4.0, None, "2 of 3 rounds")
