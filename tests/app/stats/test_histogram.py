"""The live histogram: provisional, but never further off than half a bin."""

import numpy as np
import pytest

from app.stats.quantiles import BINS, Histogram


def test_quantiles_are_within_half_a_bin_of_the_samples() -> None:
    latency_ns = np.random.default_rng(0).lognormal(10.0, 1.0, 20_000).astype(np.int64)
    histogram = Histogram()
    for part in np.array_split(latency_ns, 7):
        histogram.add(part)
    assert histogram.total == 20_000
    for quantile in (0.5, 0.9, 0.99):
        exact = np.sort(latency_ns)[int(np.ceil(quantile * 20_000)) - 1] * 1e-9
        assert histogram.quantile_s(quantile) == pytest.approx(exact, rel=0.0117)


def test_nothing_is_lost_outside_the_grid() -> None:
    histogram = Histogram()
    histogram.add(np.array([0, 1, 10**12]))
    assert histogram.total == 3
    assert histogram.counts[0] == 2
    assert histogram.counts[BINS - 1] == 1


def test_empty_histogram_has_no_quantile() -> None:
    histogram = Histogram()
    histogram.add(np.array([], dtype=np.int64))
    assert histogram.quantile_s(0.5) is None
