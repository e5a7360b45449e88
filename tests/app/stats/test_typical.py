"""Fast tails are as honest as slow ones: the fastest of x are the slowest of 1 / x."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.typical import Rounds, typical_quantile


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
