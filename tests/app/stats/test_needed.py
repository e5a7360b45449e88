"""How much more must be measured: counted over all rounds, and over what rounds spread."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, t

from app.stats.intervals import interval_between
from app.stats.required_rounds import rounds_needed, samples_needed


def test_samples_of_all_rounds_count() -> None:
    assert samples_needed(0.99, 100) == 268
    assert samples_needed(0.99, 400) == 0


@pytest.mark.parametrize("spread", [0.001, 0.01, 0.03, 0.1, 0.3])
def test_so_many_rounds_are_the_fewest_that_give_the_interval(spread: float) -> None:
    figures = np.exp(spread * np.array([-1.0, 0.0, 1.0]))  # of which the deviation is `spread`
    rounds = rounds_needed(figures.tolist())
    assert rounds is not None

    # Three rounds estimate a deviation: what it is at most, with 60 %, by the chi-square law.
    limit = spread / np.sqrt(chi2(2).ppf(0.4) / 2)

    def reach(n: int) -> float:
        deviation = spread if n <= 3 else limit
        return float(np.exp(t(n - 1).ppf(0.975) * deviation / np.sqrt(n)) - 1)

    assert reach(rounds) <= 0.05 * (1 + 1e-9)
    assert rounds == 3 or reach(rounds - 1) > 0.05


@pytest.mark.parametrize("unlucky", [1.1, 1.3, 2.0])
def test_as_many_as_there_are_suffice_just_where_their_interval_is_narrow(unlucky: float) -> None:
    """A process that was unlucky skews the interval, and the number of rounds follows it."""
    figures = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.0 * unlucky]
    interval = interval_between(np.array(figures))
    assert interval is not None
    middle = float(np.exp(np.mean(np.log(figures))))
    half_width = max(interval.high / middle - 1.0, 1.0 - interval.low / middle)
    enough = rounds_needed(figures, share=half_width * (1 + 1e-9))
    assert enough is not None and enough <= len(figures)
    more = rounds_needed(figures, share=half_width * 0.95)
    assert more is not None and more > len(figures)


def test_that_many_rounds_have_such_an_interval_when_they_are_measured() -> None:
    """In more than half of the tries: the spread of ten rounds is taken at its 60 % limit."""
    rng, narrow = np.random.default_rng(5), 0
    for _ in range(400):
        rounds = rounds_needed(np.exp(0.08 * rng.standard_normal(10)).tolist())
        assert rounds is not None
        interval = interval_between(np.exp(0.08 * rng.standard_normal(rounds)))
        assert interval is not None
        narrow += interval.high / interval.low <= 1.05**2
    assert 0.55 <= narrow / 400 <= 0.85


def test_rounds_that_correlate_need_more() -> None:
    figures = [100.0, 101.0, 99.0, 100.5, 99.5, 103.0]
    alone = rounds_needed(figures, 0.002)
    correlated_rounds = rounds_needed(figures, 0.002, inflation=1.5)
    assert alone is not None and correlated_rounds is not None
    assert correlated_rounds == pytest.approx(1.5**2 * alone, rel=0.1)


def test_two_rounds_do_not_tell_how_many_more() -> None:
    assert rounds_needed([10.0, 11.0]) is None
    assert rounds_needed([10.0, 10.0, 10.0]) == 3
