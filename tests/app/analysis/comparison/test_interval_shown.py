"""Intervals as people read them: those that decided, and none that say nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.analysis.comparison.judge import interval_note
from app.analysis.comparison.ranking import Fastest
from app.cases.objectives import BAND
from app.formatting import text
from app.present.console.run_summary import verdict_text
from app.stats.verdict import Difference, Verdict, difference, judge, rounds_to_decide

EDGE = math.log1p(BAND)


def drawn(seed: int, count: int) -> list[Difference | None]:
    """Pairs of rounds of many sizes of change and of noise."""
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(count):
        change, spread = rng.choice([0.0, 0.0, 0.03, 0.1, 0.4]), rng.choice([0.001, 0.01, 0.05])
        first = np.exp(spread * rng.standard_normal(6))
        second = (1.0 + change) * np.exp(spread * rng.standard_normal(6))
        differences.append(difference(first.tolist(), second.tolist(), in_turn=True))
    return differences


@pytest.mark.parametrize("seed", range(40))
def test_an_interval_says_what_its_verdict_says(seed: int) -> None:
    for verdict in judge(drawn(seed, 1 + seed)):
        assert verdict.interval is not None
        low, high = math.log(verdict.interval.low), math.log(verdict.interval.high)
        is_beyond = low > EDGE or high < -EDGE
        is_within = low > -EDGE and high < EDGE
        assert is_beyond == (verdict.word in ("slower", "faster")), verdict
        assert is_within == (verdict.word == "same"), verdict


def test_more_comparisons_widen_the_interval_that_is_shown() -> None:
    change = Difference(math.log(1.10), 0.028, 9, in_turn=True)
    (alone,) = judge([change])
    wide = Difference(0.0, 1.0, 9, in_turn=True)
    joint_verdict = judge([change, *[wide] * 8])[0]
    assert alone.word == "slower" and joint_verdict.word == "undecided"
    assert alone.interval is not None and joint_verdict.interval is not None
    assert joint_verdict.interval.low < 1.0 + BAND < alone.interval.low
    assert joint_verdict.confidence == pytest.approx(1.0 - 0.05 / 9)
    assert f"{100 * joint_verdict.confidence:.4g} %" in interval_note([joint_verdict])


def test_the_note_speaks_of_a_correction_only_where_there_was_one() -> None:
    slower = Difference(math.log(1.5), 0.028, 9, in_turn=True)
    alone, pair = judge([slower]), judge([slower, slower])
    assert [verdict.family for verdict in (*alone, *pair)] == [1, 2, 2]
    assert "Holm" not in interval_note(alone)
    assert "95 %" in interval_note(alone) and " to " not in interval_note(alone)
    assert "Holm" in interval_note(pair)
    (alike,) = judge([Difference(0.0, 1e-4, 9, in_turn=True)])
    assert (alike.word, "two one-sided" in interval_note([alike])) == ("same", True)
    assert "two one-sided" not in interval_note(alone)
    assert alike.confidence == pytest.approx(0.90)
    # One that has too few rounds was no comparison, and one of a pair may be shown alone.
    assert "Holm" not in interval_note(judge([slower, None]))
    assert "Holm" in interval_note(pair[:1])


def contest(verdict: Verdict, rounds_needed: int | None) -> Fastest:
    times = verdict.ratio or 1.0
    return Fastest("m", "a", "b", times, verdict, False, 3, rounds_needed, simulated=False)


@pytest.mark.parametrize("spread", [0.03, 0.2, 0.5, 2.0])
def test_two_that_may_differ_by_more_than_the_band_are_not_called_alike(spread: float) -> None:
    change = Difference(math.log(1.03), spread, 2, in_turn=True)
    (verdict,) = judge([change])
    sentence = verdict_text(contest(verdict, rounds_to_decide(change)), BAND)
    assert verdict.word == "undecided" and "differ" not in sentence and "same" not in sentence
    assert verdict.interval is not None
    if verdict.interval.high > 10 * verdict.interval.low:
        assert text.significant(verdict.interval.high, 4) not in sentence
        assert "too noisy" in sentence
