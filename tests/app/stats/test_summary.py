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


@pytest.mark.parametrize(("count", "held"), [(5, "94%"), (3, "75%"), (2, "50%")])
def test_a_slow_model_has_a_median_and_the_widest_interval_that_is_true(
    count: int, held: str
) -> None:
    times = 1e9 * np.arange(1, count + 1)
    summary = summarise([samples(times[:1]), samples(times[1:])])
    assert summary is not None
    assert summary.quantiles["p50"] == pytest.approx(1e6 * ((count + 1) // 2))
    interval = summary.intervals["p50"]
    assert interval is not None
    assert (interval.low, interval.high) == (1e6, 1e6 * count)
    (warning,) = summary.warnings
    assert f"for {count} runs" in warning
    assert f"with {held} only" in warning
    assert f"{6 - count} more are needed for 95 %: --profile standard" in warning
    assert summary.quantiles["p99"] is None


def test_the_interval_of_few_runs_holds_the_median_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(7).exponential(size=(20_000, 4))
    held = (drawn.min(axis=1) < np.log(2)) & (np.log(2) < drawn.max(axis=1))
    assert held.mean() == pytest.approx(1 - 2.0**-3, abs=0.01)


def test_one_run_is_a_median_without_an_interval() -> None:
    summary = summarise([samples(np.array([5e9]))])
    assert summary is not None
    assert (summary.quantiles["p50"], summary.intervals["p50"]) == (5e6, None)
    assert "1 run, which bounds no median" in summary.warnings[0]
