"""The share of late runs: how often its interval holds the true one, and what widens it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

from app.stats.quantiles import Interval
from app.stats.tails import exact_interval, late_share_of

TRIES = 400


@pytest.mark.parametrize(("late", "runs"), [(0, 1000), (1, 50), (7, 300), (299, 300), (20, 20)])
def test_of_independent_runs_the_interval_is_clopper_and_pearsons(late: int, runs: int) -> None:
    exact = binomtest(late, runs).proportion_ci(0.95, "exact")
    bounds = exact_interval(late, runs)
    assert (bounds.low, bounds.high) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_rounds_alike_are_counted_as_one_sample() -> None:
    rounds = [np.array([10.0] * 50 + [30.0] + [10.0] * 37 + [30.0] + [10.0] * 10 + [30.0])] * 3
    late = late_share_of(20.0, rounds)
    assert (late.runs, late.share, late.absent) == (9, 0.03, "")
    assert late.interval is not None
    exact = binomtest(9, 300).proportion_ci(0.95, "exact")
    assert (late.interval.low, late.interval.high) == pytest.approx((exact.low, exact.high))


def test_a_run_that_takes_exactly_the_deadline_is_not_late() -> None:
    assert late_share_of(20.0, [np.array([20.0, 20.001, 19.0])] * 3).share == pytest.approx(1 / 3)


def test_no_late_run_bounds_the_share_from_above_by_their_number() -> None:
    late = late_share_of(20.0, [np.full(1000, 10.0)] * 4)
    assert late.share == 0.0
    assert late.interval is not None
    assert late.interval.low == 0.0
    assert late.interval.high == pytest.approx(1 - 0.025 ** (1 / 4000))


def test_fewer_than_three_rounds_tell_a_share_and_no_interval() -> None:
    late = late_share_of(20.0, [np.array([10.0, 30.0])] * 2)
    assert (late.share, late.interval, late.absent) == (0.5, None, "2 of 3 rounds")


def test_late_runs_in_a_row_are_worth_fewer_than_as_many_apart() -> None:
    scattered_runs, in_a_row = np.full(1000, 10.0), np.full(1000, 10.0)
    scattered_runs[np.random.default_rng(0).choice(1000, 40, replace=False)] = 30.0
    in_a_row[100:120] = in_a_row[700:720] = 30.0
    assert width(late_share_of(20.0, [scattered_runs] * 3).interval) < width(
        late_share_of(20.0, [in_a_row] * 3).interval
    )


def test_processes_that_differ_widen_the_interval() -> None:
    def interval_of(counts: tuple[int, ...]) -> Interval | None:
        rng = np.random.default_rng(1)
        rounds = []
        for count in counts:
            rounds.append(np.full(2000, 10.0))
            rounds[-1][rng.choice(2000, count, replace=False)] = 30.0
        return late_share_of(20.0, rounds).interval

    assert width(interval_of((20, 20, 20, 20, 20))) < width(interval_of((0, 5, 10, 15, 70)))


def independent(share: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    late: np.ndarray = (rng.random(runs) < share).astype(float)
    return late


def in_spells(share: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Each spell makes five runs late."""
    is_start = rng.random(runs + 4) < 1 - (1 - share) ** (1 / 5)
    late: np.ndarray = np.max([is_start[k : k + runs] for k in range(5)], axis=0).astype(float)
    return late


def of_processes(share: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Each process has a share of its own, of this mean."""
    return independent(share * rng.gamma(4.0, 1 / 4.0), runs, rng)


@pytest.mark.parametrize("drawn", [independent, in_spells, of_processes])
@pytest.mark.parametrize("rounds", [5, 10])
def test_the_interval_holds_the_true_share_as_often_as_it_says(
    drawn: Callable[[float, int, np.random.Generator], np.ndarray], rounds: int
) -> None:
    rng, share, hits = np.random.default_rng(3), 0.01, 0
    for _ in range(TRIES):
        bounds = late_share_of(0.5, [drawn(share, 1500, rng) for _ in range(rounds)]).interval
        assert bounds is not None
        hits += bounds.low <= share <= bounds.high
    # Three standard deviations of so many tries below 95 %.
    assert hits / TRIES >= 0.95 - 3 * (0.95 * 0.05 / TRIES) ** 0.5


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.width
