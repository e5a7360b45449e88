"""Ratios of turns: what the sides share cancels, whatever the machine does."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.turns import ratio_in_turns, turn_medians
from app.stats.verdict import RoundPairs


def test_a_turn_is_what_counts_between_two_pauses() -> None:
    latencies = np.array([90.0, 1.0, 2.0, 3.0, 80.0, 70.0, 5.0, 60.0, 7.0, 9.0])
    counted = np.array([0, 1, 1, 1, 0, 0, 1, 0, 1, 1], bool)
    assert turn_medians(latencies, counted).tolist() == [2.0, 5.0, 8.0]


def test_the_ratio_is_of_cycles_in_which_both_had_a_turn() -> None:
    assert ratio_in_turns([1.0, 2.0, 4.0], [2.0, 4.0, 8.0, 9.0]) == pytest.approx(2.0)
    assert ratio_in_turns([1.0, 9.0, 4.0, 9.0], [3.0, 0.0, 12.0, 0.0]) == pytest.approx(3.0)
    for first, second in (([0.0, 1.0], [1.0, 0.0]), ([0.0], [1.0]), ([], [])):
        assert ratio_in_turns(first, second) is None


def levels(rng: np.random.Generator, cycles: int, stay: float) -> np.ndarray:
    """A machine with two speeds, of which each lasts for `1 / (1 - stay)` cycles in the mean."""
    is_slow = rng.random() < 0.5
    states = []
    for _ in range(cycles):
        is_slow ^= rng.random() > stay
        states.append(1.45 if is_slow else 1.0)
    return np.array(states)


def pairs(rng: np.random.Generator, kind: str, ratio: float) -> RoundPairs:
    """Eight sets of forty cycles: the states are shared, layouts and noise are each process's."""
    first, second = [], []
    for _ in range(8):
        states = levels(rng, 40, 0.98 if kind == "long" else 0.7)
        if kind == "drift":
            states = states * np.linspace(1.0, 1.2, 40)
        layouts = np.exp(rng.normal(0.0, 0.01, 2))
        noise = np.exp(rng.normal(0.0, 0.03, (2, 40)))
        if kind == "own":  # one turn of ten meets a state that the other does not
            noise *= np.where(rng.random((2, 40)) < 0.1, 1.45, 1.0)
        a, b = states * noise * layouts[:, None]
        measured = ratio_in_turns(a.tolist(), (ratio * b).tolist())
        assert measured is not None
        first.append(float(np.median(a)))
        second.append(first[-1] * measured)
    return RoundPairs(first, second)


@pytest.mark.parametrize("kind", ["short", "long", "drift", "own"])
def test_intervals_over_sets_hold_the_ratio(kind: str) -> None:
    rng, ratio, tries = np.random.default_rng(7), 1.05, 400
    intervals = [pairs(rng, kind, ratio).ratio_interval() for _ in range(tries)]
    known = [interval for interval in intervals if interval is not None]
    assert sum(i.low <= ratio <= i.high for i in known) >= 0.93 * tries == 0.93 * len(known)
    assert float(np.median([i.high / i.low - 1.0 for i in known])) < 0.05
