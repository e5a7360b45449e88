"""Pairs of rounds: differences, sides that wander, and pairs that hardly spread."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.intervals import round_correlation
from app.stats.verdict import (
    Difference,
    binomial_interval,
    difference,
    judge,
    typical_difference,
    with_minimum_spread,
)
from tests.simulated.aa import PROCESSES, WANDERING, wrong_runs


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


def in_turn(error: float, freedom: float = 2.0) -> Difference:
    return Difference(0.1, error, freedom, in_turn=True)


def modes(rng: np.random.Generator, rounds: int) -> list[float]:
    """Processes on one of two nodes, a third apart, that are else alike."""
    level = rng.choice(np.array([100.0, 133.0]), rounds)
    figures: list[float] = (level * np.exp(0.004 * rng.standard_normal(rounds))).tolist()
    return figures


@pytest.mark.parametrize("rounds", [3, 5])
def test_a_hundred_cases_in_modes_are_not_slower_than_themselves(rounds: int) -> None:
    rng = np.random.default_rng(1)
    wrong = {"raised": 0, "as measured": 0}
    for _ in range(60):
        differences = [difference(modes(rng, rounds), modes(rng, rounds), True) for _ in range(100)]
        new_differences = with_minimum_spread(differences, ["p50"] * 100)
        for name, tested_differences in (("raised", new_differences), ("as measured", differences)):
            wrong[name] += any(
                verdict.word in ("faster", "slower") for verdict in judge(tested_differences)
            )
    assert wrong["raised"] <= 5
    assert wrong["as measured"] > 5


def test_one_more_pair_has_the_typical_variance() -> None:
    """Variances of a pair 3, 3 and 300 (error^2 times 3 pairs): 3 becomes (2 x 3 + 3) / 3 = 3, and
    0.03 becomes (2 x 0.03 + 3) / 3."""
    differences = with_minimum_spread([in_turn(1.0), in_turn(0.1), in_turn(10.0)], ["p50"] * 3)
    errors = [
        difference_entry.error for difference_entry in differences if difference_entry is not None
    ]
    assert errors[0] == pytest.approx(1.0) and errors[2] == pytest.approx(10.0)
    assert errors[1] == pytest.approx(((2 * 0.03 + 3.0) / 3 / 3) ** 0.5)


def test_figures_are_judged_by_their_own_kind() -> None:
    differences = with_minimum_spread(
        [in_turn(0.1), in_turn(0.1), in_turn(0.1), *[in_turn(10.0)] * 3],
        ["p50"] * 3 + ["p99"] * 3,
    )
    assert [entry.error for entry in differences if entry is not None] == pytest.approx(
        [0.1] * 3 + [10.0] * 3
    )


def test_two_comparisons_and_runs_measured_apart_stay_as_they_are() -> None:
    few = [in_turn(0.1), in_turn(10.0), None]
    assert with_minimum_spread(few, ["p50"] * 3) == few
    unpaired_runs = [Difference(0.1, error, 4.0, in_turn=False) for error in (0.1, 10.0, 20.0)]
    assert with_minimum_spread(unpaired_runs, ["p50"] * 3) == unpaired_runs
