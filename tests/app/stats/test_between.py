"""The interval between processes: t on the logarithms, and Hall's where they are skewed."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.intervals import interval_between, typical, unseen_share


def test_two_rounds_have_no_interval() -> None:
    assert interval_between(np.array([9.5, 10.0])) is None


def test_symmetric_rounds_have_the_interval_of_student() -> None:
    """ln 9, ln 10, ln 11.11: s = 0.1054, t(2, 97.5 %) = 4.303, 10 exp(+-4.303 s / sqrt(3))."""
    interval = interval_between(np.array([9.0, 10.0, 100.0 / 9.0]))
    assert interval is not None
    assert interval.low == pytest.approx(7.697, abs=0.002)
    assert interval.high == pytest.approx(12.99, abs=0.01)


def test_one_slow_process_lengthens_the_side_on_which_it_is() -> None:
    rounds = np.array([10.0, 10.1, 10.0, 9.9, 10.1, 12.0])
    interval = interval_between(rounds)
    assert interval is not None
    middle = typical(rounds)
    assert np.log(interval.high / middle) > 2.0 * np.log(middle / interval.low)


def test_rounds_that_are_equal_have_an_interval_without_width() -> None:
    interval = interval_between(np.full(5, 7.0))
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((7.0, 7.0))


def test_what_is_typical_is_the_geometric_mean_of_figures_that_spread_evenly() -> None:
    assert typical(np.array([50.0, 100.0, 200.0])) == pytest.approx(100.0)
    assert typical(np.array([50.0, 200.0])) == pytest.approx(100.0)


def test_a_rare_slow_process_hardly_moves_what_is_typical() -> None:
    """One of eight is three times slower: the geometric mean moves by 15 %."""
    rounds = np.array([9.8, 9.9, 9.95, 10.0, 10.05, 10.1, 10.2, 30.0])
    assert typical(rounds) == pytest.approx(10.0, rel=0.02)
    assert np.exp(np.log(rounds).mean()) > 11.4
    interval = interval_between(rounds)
    assert interval is not None and interval.low < 10.0 < 11.4 < interval.high


def test_an_interval_holds_the_figure_that_it_is_of() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        rounds = np.exp(0.01 * rng.standard_t(1, rng.integers(3, 9)))
        interval = interval_between(rounds, confidence=0.5)
        assert interval is not None and interval.low <= typical(rounds) <= interval.high


@pytest.mark.parametrize("rounds", [1, 8, 59])
def test_a_mode_of_the_unseen_share_is_missed_in_one_run_of_twenty(rounds: int) -> None:
    assert (1.0 - unseen_share(rounds)) ** rounds == pytest.approx(0.05)


def test_an_inflation_widens_by_its_factor() -> None:
    rounds = np.array([9.0, 10.0, 100.0 / 9.0])
    plain, wide = interval_between(rounds), interval_between(rounds, inflation=1.5)
    assert plain is not None and wide is not None
    assert np.log(wide.high / 10.0) == pytest.approx(1.5 * np.log(plain.high / 10.0))


@pytest.mark.parametrize(("rounds", "least"), [(5, 0.90), (10, 0.92), (20, 0.93)])
def test_unlucky_processes_are_covered_too(rounds: int, least: float) -> None:
    """Exponential logarithms, where t alone covers 88, 90 and 92 % of 40,000 draws."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(2000):
        interval = interval_between(np.exp(0.03 * rng.exponential(size=rounds)))
        assert interval is not None
        hits += interval.low <= np.exp(0.03) <= interval.high
    assert hits / 2000 >= least
