"""The figures of a row: what is shown, what is left empty, what is warned of."""

import numpy as np
import pytest

from app.stats.summary import summarise
from runtimes.execution import Samples


def samples(latency_ns: np.ndarray, late_ns: int = 0) -> Samples:
    started = np.cumsum(latency_ns) + 1_000_000
    return Samples(started - late_ns, started, started + latency_ns.astype(np.int64), "wall")


def test_a_percentile_that_the_samples_cannot_support_is_empty() -> None:
    summary = summarise([samples(np.arange(1000, 1300))])
    assert summary is not None
    assert summary.quantiles["p95"] is not None
    assert summary.quantiles["p99"] is None
    assert summary.intervals["p99"] is None
    assert summary.response_p99_us is None


def test_figures_of_known_samples() -> None:
    summary = summarise([samples(np.arange(1, 1001) * 1000)])
    assert summary is not None
    assert summary.mean_us == pytest.approx(500.5)
    assert summary.quantiles["p50"] == 500.0
    assert summary.quantiles["p99"] == 990.0
    assert (summary.min_us, summary.max_us, summary.iterations) == (1.0, 1000.0, 1000)


def test_interval_is_the_wider_of_iterations_and_processes() -> None:
    rng = np.random.default_rng(3)
    one = rng.normal(100_000, 100, 5000).astype(np.int64)
    same = summarise([samples(one), samples(one), samples(one)])
    apart = summarise([samples(one), samples(one * 2), samples(one)])
    assert same is not None
    assert apart is not None
    within, between = same.intervals["p50"], apart.intervals["p50"]
    assert within is not None
    assert between is not None
    assert within.width < 0.1
    assert between.low < 100.0 < 200.0 < between.high
    assert any("medians differ" in warning for warning in apart.warnings)


def test_two_rounds_are_bounded_by_both() -> None:
    one = np.random.default_rng(3).normal(100_000, 100, 5000).astype(np.int64)
    summary = summarise([samples(one), samples(one * 2)])
    assert summary is not None
    interval = summary.intervals["p50"]
    assert interval is not None
    assert 99.0 < interval.low < 100.0
    assert 200.0 < interval.high < 202.0


def test_outliers_are_counted_and_kept() -> None:
    latency = np.full(1000, 1000)
    latency[:20] = 90_000
    summary = summarise([samples(latency)])
    assert summary is not None
    assert summary.outliers == 20
    assert summary.max_us == 90.0
    assert any("interquartile" in warning for warning in summary.warnings)


def test_response_counts_from_the_scheduled_start() -> None:
    summary = summarise([samples(np.full(400, 1000), late_ns=5000)])
    assert summary is not None
    assert summary.response_p50_us == 6.0
    assert summary.start_lateness_p99_us == 5.0


def test_no_samples_no_summary() -> None:
    empty = np.array([], dtype=np.int64)
    assert summarise([]) is None
    assert summarise([Samples(empty, empty, empty, "wall")]) is None
