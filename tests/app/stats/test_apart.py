"""The difference of two cases in microseconds, and its interval, from pairs of rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.intervals import round_correlation
from app.stats.verdict import typical_difference


def test_the_value_is_the_difference_of_the_figures_that_rows_quote() -> None:
    """Geometric means: sqrt(8 * 18) = 12, sqrt(2 * 8) = 4."""
    estimate = typical_difference([8.0, 18.0], [2.0, 8.0])
    assert estimate is not None
    assert estimate.value == pytest.approx(8.0)
    assert estimate.interval is None, "two pairs say nothing of how pairs differ"


def test_rounds_that_do_not_differ_have_an_interval_without_width() -> None:
    estimate = typical_difference([10.0] * 4, [3.0] * 4)
    assert estimate is not None and estimate.interval is not None
    assert (estimate.value, estimate.interval.low, estimate.interval.high) == pytest.approx(
        (7.0,) * 3
    )


def test_a_symmetric_spread_has_the_interval_of_student_widened_by_its_correlation() -> None:
    """The null is still; ln a is -d, 0, d: s = 100 d, t(2, 97.5 %) = 4.302653."""
    d = 0.01
    a = [100.0 * math.exp(step) for step in (-d, 0.0, d)]
    estimate = typical_difference(a, [1.0] * 3)
    assert estimate is not None and estimate.interval is not None
    inflation = round_correlation(np.exp([-d, 0.0, d])).inflation
    assert 1.0 <= inflation < 1.5
    reach = 4.302653 * 100.0 * d / math.sqrt(3) * inflation
    assert estimate.interval.low == pytest.approx(99.0 - reach, abs=1e-4)
    assert estimate.interval.high == pytest.approx(99.0 + reach, abs=1e-4)


def test_what_slows_both_sides_of_a_pair_by_as_much_widens_nothing() -> None:
    still = [20.0, 21.0, 19.0, 20.0]
    shifted_values = [value + 30.0 for value in still]
    paired_estimate, alone = (
        typical_difference(shifted_values, still),
        typical_difference(shifted_values, [20.0] * 4),
    )
    assert paired_estimate is not None and paired_estimate.interval is not None
    assert alone is not None and alone.interval is not None
    assert paired_estimate.interval.width < 0.1 * alone.interval.width


def test_no_compute_is_told_as_such() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        a, b = (10.0 * np.exp(rng.normal(0.0, 0.02, 8)) for _ in range(2))
        estimate = typical_difference(a.tolist(), b.tolist())
        assert estimate is not None and estimate.interval is not None
        hits += estimate.interval.low <= 0.0 <= estimate.interval.high
    assert hits >= 182, "of 200 intervals of 95 %, 91 % are the least that chance leaves"


def test_without_pairs_there_is_nothing() -> None:
    assert typical_difference([], []) is None
