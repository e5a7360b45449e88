"""Comparisons with few rounds whose pairs spread hardly at all by chance."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.verdict import Difference, difference, judge, with_minimum_spread


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
