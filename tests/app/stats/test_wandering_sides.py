"""Sides that wander by themselves: their ratio wanders too, and a verdict reckons with it."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.verdict import binomial_interval, difference, with_minimum_spread
from tests.simulated.aa import PROCESSES, WANDERING, wrong_runs

HELD = WANDERING[:3]


@pytest.mark.parametrize("rounds", [8, 16])
@pytest.mark.parametrize(("cases", "runs"), [(1, 600), (10, 100), (100, 20)])
@pytest.mark.parametrize("index", range(len(HELD)), ids=[kind.name for kind in HELD])
def test_cases_that_wander_are_rarely_slower_than_themselves(
    index: int, cases: int, runs: int, rounds: int
) -> None:
    """The interval of the count must hold a rate of at most 5 %."""
    wrong = wrong_runs(HELD[index], cases, rounds, runs)
    assert binomial_interval(wrong, runs).low <= 0.05


@pytest.mark.parametrize("rounds", [3, 8, 16])
def test_independent_rounds_are_widened_by_less_than_half(rounds: int) -> None:
    rng = np.random.default_rng(5)
    sides = [PROCESSES[0].figures(rng, (100, rounds)) for _ in range(2)]
    pairs = zip(*sides, strict=True)
    changes = [difference(first.tolist(), second.tolist(), True) for first, second in pairs]
    raised = with_minimum_spread(changes, ["p50"] * 100)
    assert np.mean([change.inflation for change in raised if change is not None]) < 1.5


def test_what_many_comparisons_show_widens_each() -> None:
    """One that looks independent among many that wander."""
    rng = np.random.default_rng(6)
    first, second = (WANDERING[0].figures(rng, (9, 16)) for _ in range(2))
    wandering = [
        difference(a.tolist(), b.tolist(), True) for a, b in zip(first, second, strict=True)
    ]
    alternating = difference([100.0] * 16, [101.0, 99.0] * 8, True)
    assert alternating is not None and alternating.inflation < 1.2
    together = with_minimum_spread([*wandering, alternating], ["p50"] * 10)[-1]
    assert together is not None and together.inflation > 1.8
