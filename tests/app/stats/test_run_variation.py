"""The variation between runs: what a history and a stated value make of two runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.verdict import (
    MINIMUM_DEVIATION,
    MINIMUM_PAST_RUNS,
    STATED,
    RunVariation,
    difference,
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
