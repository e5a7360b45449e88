"""Sequential comparisons: the looks share the error of one judgement."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.round_pairs import RoundPairs, judge_rounds
from app.stats.sequential import SequentialRule
from app.stats.verdict import binomial_interval
from tests.simulated.aa import PROCESSES
from tests.simulated.sequential import endings

MAXIMUM = 16


@pytest.mark.parametrize("maximum", [3, 5, 8, MAXIMUM, 40])
def test_looks_spend_the_error_of_one_judgement(maximum: int) -> None:
    rule = SequentialRule(maximum)
    parts = [1.0 - rule.confidence_at(look) for look in rule.looks]
    assert (rule.looks[0], rule.looks[-1]) == (3, maximum)
    assert sum(parts) == pytest.approx(0.05)
    assert parts == sorted(parts), "later looks spend more, so that few rounds alone cost little"


def test_rounds_between_two_looks_have_the_part_of_the_look_that_is_not_taken() -> None:
    rule = SequentialRule(MAXIMUM)
    assert (rule.look_at(5), rule.look_after(6), rule.look_after(MAXIMUM)) == (6, 8, MAXIMUM)
    assert rule.confidence_at(5) == rule.confidence_at(6) > rule.confidence_at(8)


def wrong_runs(comparisons: int, runs: int, confidence: float | None = None) -> int:
    """Of so many runs of alike cases, those with a verdict of faster or slower."""
    shape = comparisons, MAXIMUM
    results = endings(PROCESSES[0], shape, runs, band=0.0, confidence=confidence)
    return sum(ending.is_wrong_without_change for ending in results)


@pytest.mark.parametrize("comparisons", [1, 5])
def test_no_more_than_one_run_in_twenty_is_wrong_whichever_look_ends_it(comparisons: int) -> None:
    """Over 3 to 16 rounds; the interval of the count must hold a rate of at most 5 %."""
    runs = 400 // comparisons
    assert binomial_interval(wrong_runs(comparisons, runs), runs).low <= 0.05


def test_looks_that_share_nothing_are_wrong_too_often() -> None:
    """The same count finds the fault that the rule is there for."""
    assert binomial_interval(wrong_runs(1, 400, confidence=0.95), 400).low > 0.05


def test_comparisons_that_ended_at_different_looks_are_judged_at_their_own_confidence() -> None:
    second = np.exp(0.03 + 0.02 * np.array([-1.0, 1.0] * 4))  # 3.97 standard errors from 0
    pairs = RoundPairs([1.0] * 8, second.tolist())
    alone, strict = (judge_rounds([pairs], 0.0, level)[0] for level in (0.95, 0.9999))
    assert (alone.word, strict.word) == ("slower", "undecided")
    both = judge_rounds([pairs, pairs], 0.0, [0.975, 0.9999])
    assert [verdict.word for verdict in both] == ["slower", "undecided"]
    assert both[1].confidence >= 0.9999
