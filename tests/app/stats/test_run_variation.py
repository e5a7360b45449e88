"""The variation between runs: what a history, an anchor and a stated value make of two runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.verdict import (
    MINIMUM_DEVIATION,
    MINIMUM_PAST_RUNS,
    STATED,
    STATED_DEVIATION,
    RunVariation,
    difference,
    from_anchor,
    from_history,
    judge,
)
from tests.simulated.runs import called, past_of, run_of

TRIES = 400
WITHIN = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / TRIES)
"""5 % and three standard errors of so many tries."""


@pytest.mark.parametrize("rounds", [4, 8, 64])
@pytest.mark.parametrize("deviation", [0.01, 0.03, 0.05])
def test_runs_that_differ_by_what_is_stated_are_not_called_slower(
    deviation: float, rounds: int
) -> None:
    rng = np.random.default_rng(11)
    wrong = sum(called(rng, deviation, rounds, STATED) for _ in range(TRIES)) / TRIES
    assert wrong <= WITHIN


@pytest.mark.parametrize("rounds", [4, 64])
@pytest.mark.parametrize("deviation", [0.01, 0.03, 0.1])
def test_runs_that_differ_as_those_of_their_history_do_are_not_called_slower(
    deviation: float, rounds: int
) -> None:
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(TRIES):
        history = past_of(rng, deviation, rounds, 6)
        wrong += called(rng, deviation, rounds, history)
    assert wrong / TRIES <= WITHIN


def test_a_quiet_history_finds_what_a_stated_variation_does_not() -> None:
    rng = np.random.default_rng(13)
    detections = {"history": 0, "stated": 0}
    for _ in range(100):
        history = past_of(rng, 0.01, 8, 12)
        for source, variation in (("history", history), ("stated", STATED)):
            detections[source] += called(rng, 0.01, 8, variation, change=0.12)
    assert detections["history"] >= 95 and detections["stated"] <= 10


def test_a_history_of_too_few_runs_says_nothing() -> None:
    few = [0.0, 0.01, 0.02][: MINIMUM_PAST_RUNS - 1]
    assert from_history(few) is None
    assert from_history([0.0, 0.01, 0.02], levels=2) is None, "as many levels as steps"


def test_a_history_is_not_believed_below_the_least_deviation() -> None:
    variation = from_history([1.0, 1.0001, 0.9999, 1.0])
    assert variation is not None
    assert (variation.deviation, variation.freedom, variation.source) == (
        MINIMUM_DEVIATION,
        3,
        "history",
    )


def test_an_anchor_that_moved_widens_what_is_stated() -> None:
    still = from_anchor(([100.0, 100.1, 99.9], [100.0, 100.1, 99.9]))
    shifted_anchor = from_anchor(([100.0, 100.1, 99.9], [140.0, 140.1, 139.9]))
    noisy = from_anchor(([100.0, 160.0, 70.0, 110.0], [100.0, 150.0, 80.0, 110.0]))
    assert still is not None and shifted_anchor is not None and noisy is not None
    assert still.deviation < STATED_DEVIATION < 0.1 < shifted_anchor.deviation
    assert noisy.deviation == pytest.approx(0.3, abs=0.1), "as its rounds scatter"
    assert from_anchor(([100.0], [100.0, 101.0])) is None


def rounds_under(
    rng: np.random.Generator, load: float, rounds: int, sensitivity: float
) -> list[float]:
    """The rounds of a case that shows so much of the load, which changes within the run too."""
    loads = load + 0.08 * rng.standard_normal(rounds)
    figures: list[float] = np.exp(sensitivity * loads + 0.02 * rng.standard_normal(rounds)).tolist()
    return figures


@pytest.mark.parametrize("rounds", [4, 8, 16])
def test_a_case_that_follows_the_load_more_than_the_anchor_is_not_called_slower(
    rounds: int,
) -> None:
    rng = np.random.default_rng(15)
    wrong = {False: 0, True: 0}
    for _ in range(TRIES):
        first_load, second_load = (0.12 * rng.standard_normal(2)).tolist()
        anchor = (
            rounds_under(rng, first_load, rounds, 1.0),
            rounds_under(rng, second_load, rounds, 1.0),
        )
        case = (
            rounds_under(rng, first_load, rounds, 2.5),
            rounds_under(rng, second_load, rounds, 2.5),
        )
        for is_scaled in (False, True):
            variation = from_anchor(anchor, case if is_scaled else None)
            (verdict,) = judge([difference(*case, in_turn=False, variation=variation)])
            wrong[is_scaled] += verdict.word in ("faster", "slower")
    assert wrong[True] / TRIES <= WITHIN < wrong[False] / TRIES


def test_an_anchor_widens_no_case_whose_rounds_differ_less() -> None:
    anchor = [100.0, 120.0, 90.0], [101.0, 118.0, 92.0]
    case = [50.0, 51.0, 50.5], [50.2, 50.7, 50.1]
    assert from_anchor(anchor, case) == from_anchor(anchor)


def test_a_comparison_with_more_variation_is_never_surer() -> None:
    rng = np.random.default_rng(14)
    first, second = run_of(rng, 0.0, 8), run_of(rng, 0.0, 8, change=0.1)
    widths = []
    for deviation in (0.01, 0.03, 0.1):
        variation = RunVariation(deviation, 5.0, "history")
        (verdict,) = judge([difference(first, second, in_turn=False, variation=variation)])
        assert verdict.interval is not None
        widths.append(verdict.interval.high / verdict.interval.low)
    assert widths == sorted(widths) and widths[0] < widths[-1]
