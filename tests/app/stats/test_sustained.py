"""The end of a long round against its beginning: figures by hand, and levels that move or stay."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.steadiness import ends, part_s
from runtimes.execution import Samples


def round_of(latency_us: np.ndarray, seconds: float) -> Samples:
    started_ns = np.linspace(0, seconds * 1e9, len(latency_us)).astype(np.int64)
    finished_ns = started_ns + np.rint(latency_us * 1e3).astype(np.int64)
    return Samples(started_ns, started_ns, finished_ns, "wall")


def noisy(levels_us: np.ndarray) -> np.ndarray:
    return levels_us * (1.0 + np.random.default_rng(3).normal(0.0, 0.01, len(levels_us)))


@pytest.mark.parametrize(
    ("seconds", "part"), [(1.0, 0.1), (60.0, 6.0), (119.0, 11.9), (120.0, 60.0), (1800.0, 60.0)]
)
def test_minutes_are_compared_from_two_of_them_on_and_tenths_below(
    seconds: float, part: float
) -> None:
    assert part_s(seconds) == pytest.approx(part)


def test_both_ends_are_ranked_by_themselves() -> None:
    """10,000 runs in 300 s: the first minute holds 2,000 of them, all as slow as each other."""
    levels = np.full(10_000, 150.0)
    levels[:2000] = np.arange(2000) + 1.0
    levels[-2000:] = 2.0 * (np.arange(2000) + 1.0)
    summary = ends(round_of(levels, 300.0), 300.0)
    assert summary.first_p50_us == pytest.approx(1000.0, abs=2.0)
    assert summary.last_p50_us == pytest.approx(2000.0, abs=4.0)
    assert summary.first_p99_us == pytest.approx(1980.0, abs=2.0)
    assert summary.last_p99_us == pytest.approx(3960.0, abs=4.0)


def test_a_step_to_a_slower_level_is_told_with_its_time() -> None:
    levels = np.where(np.arange(30_000) < 12_000, 100.0, 125.0)
    summary = ends(round_of(noisy(levels), 300.0), 300.0)
    assert summary.slower_after_s == pytest.approx(120.0, abs=3.0)


def test_a_ramp_is_told_when_it_is_half_way() -> None:
    summary = ends(round_of(noisy(np.linspace(100.0, 200.0, 30_000)), 1000.0), 1000.0)
    assert summary.slower_after_s == pytest.approx(500.0, abs=30.0)


def test_a_level_that_comes_back_or_stays_or_gets_faster_is_none() -> None:
    runs = np.arange(30_000)
    back = np.where((runs > 9_000) & (runs < 15_000), 125.0, 100.0)
    for levels in (back, np.full(30_000, 100.0), np.where(runs < 9_000, 125.0, 100.0)):
        assert ends(round_of(noisy(levels), 300.0), 300.0).slower_after_s is None


def test_a_slow_spell_before_the_last_move_does_not_count() -> None:
    """Slow, fast again, then slow for good: the time of the second is told."""
    runs = np.arange(30_000)
    levels = np.where(((runs > 6_000) & (runs < 9_000)) | (runs >= 18_000), 125.0, 100.0)
    summary = ends(round_of(noisy(levels), 300.0), 300.0)
    assert summary.slower_after_s == pytest.approx(180.0, abs=3.0)


def test_few_runs_bound_no_percentile() -> None:
    summary = ends(round_of(np.full(20, 100.0), 300.0), 300.0)
    assert (summary.first_p50_us, summary.first_p99_us, summary.slower_after_s) == (
        None,
        None,
        None,
    )
