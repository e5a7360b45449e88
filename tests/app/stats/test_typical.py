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
    drawn = Rounds.of(rounds)
    found = typical_quantile(drawn, 0.99)
    assert found.value == pytest.approx(140.0, abs=0.5)
    assert drawn.independent(0.99) == (100,) * 4, "20 runs in a row count as one"
    assert drawn.clusters(0.99) < 2
    assert found.interval is None and found.absent and found.too_short


def test_rounds_within_a_minute_and_rounds_that_correlate_are_marked() -> None:
    levels = np.exp(0.05 * np.sin(np.arange(16) / 4.0))
    rounds = [level * (100.0 + np.arange(2000) % 7) for level in levels]
    near = Rounds.of(rounds, starts_s=[3.0 * k for k in range(16)])
    spread = Rounds.of(rounds, starts_s=[30.0 * k for k in range(16)])
    unknown = Rounds.of(rounds)
    assert marks_of(near, [typical_quantile(near, 0.5)]) == (
        "rounds_correlated",
        "rounds_close_in_time",
    )
    for one in (spread, unknown):
        assert marks_of(one, [typical_quantile(one, 0.5)]) == ("rounds_correlated",)


def test_contention_widens_the_mean_and_upper_percentiles_and_not_the_median() -> None:
    """Rounds that differ far more than their runs, so that rounds alone decide the widths."""
    levels = 100.0 * np.exp(0.05 * np.random.default_rng(7).standard_normal(8))
    rounds = [level * np.linspace(0.99, 1.01, 5000) for level in levels]
    rng = np.random.default_rng(9)
    shuffled = [rng.permutation(latencies) for latencies in rounds]
    quiet, contended = Rounds.of(shuffled), Rounds.of(shuffled, is_contended=True)
    assert typical_quantile(contended, 0.5) == typical_quantile(quiet, 0.5)
    pairs = [(typical_quantile(one, 0.99), typical_mean(one)) for one in (quiet, contended)]
    for before, after in zip(*pairs, strict=True):
        assert before.interval is not None and after.interval is not None
        assert before.value == after.value
        assert after.interval.width > 1.3 * before.interval.width
    bounds = [upper_bound(one, 0.99).value for one in (quiet, contended)]
    assert bounds[0] is not None and bounds[1] is not None and bounds[0] < bounds[1]
    assert marks_of(contended) == ("contended",) and marks_of(quiet) == ()


def test_contended_rounds_within_ten_minutes_are_marked_as_close() -> None:
    rounds = [
        level * (100.0 + np.arange(2000) % 7) for level in (1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1, 1)
    ]
    marks = {}
    for is_contended in (False, True):
        for gap_s in (8.0, 70.0, 80.0):
            starts_s = [gap_s * number for number in range(8)]
            one = Rounds.of(rounds, starts_s=starts_s, is_contended=is_contended)
            found = marks_of(one, [typical_quantile(one, 0.5)])
            marks[is_contended, gap_s] = "rounds_close_in_time" in found
    assert [gap for (contended, gap), close in marks.items() if close and not contended] == [8.0]
    assert [gap for (contended, gap), close in marks.items() if close and contended] == [8.0, 70.0]


def test_a_surer_interval_takes_more_runs_and_says_so() -> None:
    rounds = Rounds.of([np.array([100.0 + k, 101.0 + k]) for k in range(4)])
    assert typical_quantile(rounds, 0.5).interval is not None
    sure = typical_quantile(rounds, 0.5, confidence=0.995)
    assert sure.value is not None and sure.interval is None
    assert sure.absent == "8 of 9 independent runs for an interval"


def test_a_fast_tail_of_few_runs_is_empty_and_says_that_rounds_are_too_short() -> None:
    told = typical_quantile(Rounds.of([1.0 / latencies for latencies in drawn(600)]), 0.02)
    assert told.value is not None and told.interval is None
    assert "of 20 independent runs beyond it" in told.absent
    assert told.too_short
