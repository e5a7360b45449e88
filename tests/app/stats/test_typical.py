"""Fast tails are as honest as slow ones: the fastest of x are the slowest of 1 / x."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.estimates import Rounds, marks_of, typical_mean, typical_quantile, upper_bound


def drawn(runs: int, spells: int = 1) -> list[np.ndarray]:
    """Six rounds with a slow tail, whose slow runs come in spells of so many."""
    rng = np.random.default_rng(11)
    rounds = []
    for _ in range(6):
        slow = np.repeat(rng.random(runs // spells) < 0.03, spells)
        rounds.append(100.0 * np.exp(0.05 * rng.standard_normal(len(slow)) + 0.4 * slow))
    return rounds


@pytest.mark.parametrize(("runs", "spells"), [(5000, 1), (20_000, 20)])
def test_a_fast_tail_is_the_mirror_of_a_slow_one(runs: int, spells: int) -> None:
    rounds = drawn(runs, spells)
    slow = typical_quantile(Rounds.of(rounds), 0.98)
    fast = typical_quantile(Rounds.of([1.0 / latencies for latencies in rounds]), 0.02)
    assert slow.value is not None and slow.interval is not None
    assert fast.value is not None and fast.interval is not None
    assert fast.value == pytest.approx(1.0 / slow.value, rel=2e-3)
    assert fast.interval.low == pytest.approx(1.0 / slow.interval.high, rel=5e-3)
    assert fast.interval.high == pytest.approx(1.0 / slow.interval.low, rel=5e-3)


def test_a_value_is_shown_where_dependent_runs_support_no_interval() -> None:
    """All runs beyond the p99 of a round follow each other: enough runs, and one event."""
    rng = np.random.default_rng(12)
    rounds = []
    for begin in (100, 1200, 700, 300):
        latencies = 100.0 + rng.random(2000)
        latencies[begin : begin + 40] = np.linspace(130.0, 150.0, 40)
        rounds.append(latencies)
    dependent_rounds = Rounds.of(rounds)
    estimate = typical_quantile(dependent_rounds, 0.99)
    assert estimate.value == pytest.approx(140.0, abs=0.5)
    assert dependent_rounds.independent(0.99) == (100,) * 4, "20 runs in a row count as one"
    assert dependent_rounds.clusters(0.99) < 2
    assert estimate.interval is None and estimate.absent and estimate.too_short


def test_rounds_within_a_minute_and_rounds_that_correlate_are_marked() -> None:
    levels = np.exp(0.05 * np.sin(np.arange(16) / 4.0))
    rounds = [level * (100.0 + np.arange(2000) % 7) for level in levels]
    close_rounds = Rounds.of(rounds, starts_s=[3.0 * k for k in range(16)])
    spread = Rounds.of(rounds, starts_s=[30.0 * k for k in range(16)])
    untimed_rounds = Rounds.of(rounds)
    assert marks_of(close_rounds, [typical_quantile(close_rounds, 0.5)]) == (
        "rounds_correlated",
        "rounds_close_in_time",
    )
    for entry in (spread, untimed_rounds):
        assert marks_of(entry, [typical_quantile(entry, 0.5)]) == ("rounds_correlated",)


def test_contention_widens_the_mean_and_upper_percentiles_and_not_the_median() -> None:
    """Rounds that differ far more than their runs, so that rounds alone decide the widths."""
    levels = 100.0 * np.exp(0.05 * np.random.default_rng(7).standard_normal(8))
    rounds = [level * np.linspace(0.99, 1.01, 5000) for level in levels]
    rng = np.random.default_rng(9)
    permutations = [rng.permutation(latencies) for latencies in rounds]
    quiet, contended_rounds = Rounds.of(permutations), Rounds.of(permutations, is_contended=True)
    assert typical_quantile(contended_rounds, 0.5) == typical_quantile(quiet, 0.5)
    pairs = [
        (typical_quantile(entry, 0.99), typical_mean(entry)) for entry in (quiet, contended_rounds)
    ]
    for quiet_estimate, wide_estimate in zip(*pairs, strict=True):
        assert quiet_estimate.interval is not None and wide_estimate.interval is not None
        assert quiet_estimate.value == wide_estimate.value
        assert wide_estimate.interval.width > 1.3 * quiet_estimate.interval.width
    bounds = [upper_bound(entry, 0.99).value for entry in (quiet, contended_rounds)]
    assert bounds[0] is not None and bounds[1] is not None and bounds[0] < bounds[1]
    assert marks_of(contended_rounds) == ("contended",) and marks_of(quiet) == ()


def test_contended_rounds_within_ten_minutes_are_marked_as_close() -> None:
    rounds = [
        level * (100.0 + np.arange(2000) % 7) for level in (1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1, 1)
    ]
    marks = {}
    for is_contended in (False, True):
        for gap_s in (8.0, 70.0, 80.0):
            starts_s = [gap_s * number for number in range(8)]
            timed_rounds = Rounds.of(rounds, starts_s=starts_s, is_contended=is_contended)
            codes = marks_of(timed_rounds, [typical_quantile(timed_rounds, 0.5)])
            marks[is_contended, gap_s] = "rounds_close_in_time" in codes
    assert [gap for (contention, gap), close in marks.items() if close and not contention] == [8.0]
    assert [gap for (contention, gap), close in marks.items() if close and contention] == [
        8.0,
        70.0,
    ]


def test_a_surer_interval_takes_more_runs_and_says_so() -> None:
    rounds = Rounds.of([np.array([100.0 + k, 101.0 + k]) for k in range(4)])
    assert typical_quantile(rounds, 0.5).interval is not None
    sure = typical_quantile(rounds, 0.5, confidence=0.995)
    assert sure.value is not None and sure.interval is None
    assert sure.absent == "8 of 9 independent runs for an interval"


def test_a_fast_tail_of_few_runs_is_empty_and_says_that_rounds_are_too_short() -> None:
    estimate = typical_quantile(Rounds.of([1.0 / latencies for latencies in drawn(600)]), 0.02)
    assert estimate.value is not None and estimate.interval is None
    assert "of 20 independent runs beyond it" in estimate.absent
    assert estimate.too_short
