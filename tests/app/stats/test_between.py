"""The interval between processes: t on the logarithms, and Hall's where they are skewed."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.between import interval_between, typical


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


@pytest.mark.parametrize(("rounds", "least"), [(5, 0.90), (10, 0.92), (20, 0.93)])
def test_unlucky_processes_are_covered_too(rounds: int, least: float) -> None:
    """Exponential logarithms, where t alone covers 88, 90 and 92 % of 40,000 draws."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(2000):
        interval = interval_between(np.exp(0.03 * rng.exponential(size=rounds)))
        assert interval is not None
        covered += interval.low <= np.exp(0.03) <= interval.high
    assert covered / 2000 >= least
