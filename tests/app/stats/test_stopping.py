"""Rounds that are added until an interval is narrow, or by looks of a sequential comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, t

from app.stats.estimates import Estimate
from app.stats.intervals import interval_between, typical
from app.stats.quantiles import Interval
from app.stats.required_rounds import (
    FIRST_LOOK,
    SequentialRule,
    StoppingRule,
    reach,
    rounds_needed,
    samples_needed,
)
from app.stats.verdict import RoundPairs, binomial_interval, judge_rounds
from tests.seldom import seldom_but
from tests.simulated.aa import PROCESSES
from tests.simulated.sequential import endings
from tests.simulated.stopping import STREAMS, Asked, stopped, wrongly_called

TRIES = 240


@pytest.mark.parametrize(
    ("most", "looks"),
    [(40, (5, 7, 10, 14, 20, 28, 40)), (12, (5, 7, 10, 12)), (6, (5, 6)), (FIRST_LOOK, (5,))],
)
def test_looks_are_few_and_the_one_that_ends_a_case_holds_as_often_as_one(
    most: int, looks: tuple[int, ...]
) -> None:
    """Of normal rounds, whatever their deviation is in widths that are asked for."""
    rule = StoppingRule({}, most)
    assert rule.looks == looks
    tries, rng = 20_000, np.random.default_rng(most)
    for spread in np.geomspace(0.3, 6.0, 12):
        rounds = spread * rng.standard_normal((tries, most))
        is_held, is_over = np.zeros((2, tries), bool)
        for look in rule.looks:
            deviations = rounds[:, :look].std(axis=1, ddof=1)
            reaches = t(look - 1).ppf(0.5 + rule.confidence / 2) * deviations / np.sqrt(look)
            ends = ~is_over & ((reaches <= 1.0) | (look == most))
            is_held[ends] = (np.abs(rounds[:, :look].mean(axis=1)) <= reaches)[ends]
            is_over |= ends
        assert is_held.mean() >= 0.945, spread


def test_an_interval_reaches_as_far_as_its_farther_side() -> None:
    """The extremes of too few runs are no narrow interval."""
    few = Estimate(100.0, Interval(99.9, 100.1), "5 of 6 runs, the interval is all of them")
    sides = (Interval(99.0, 103.0), Interval(95.0, 103.0))
    assert [reach(Estimate(100.0, side)) for side in sides] == pytest.approx([0.03, 0.05])
    assert reach(Estimate(100.0, None)) is reach(few) is None
    assert not StoppingRule({"p50": 0.01}).settles({"p50": few})


def test_every_percentile_that_is_asked_for_must_be_narrow() -> None:
    rule = StoppingRule({"p50": 0.01, "p99": 0.1})
    narrow, wide = Estimate(100.0, Interval(99.5, 100.5)), Estimate(100.0, Interval(95.0, 105.0))
    assert rule.settles({"p50": narrow, "p99": wide})
    assert not rule.settles({"p50": wide, "p99": narrow})
    assert not rule.settles({"p50": narrow, "p99": Estimate(100.0, None, "3 rounds")})
    short = Estimate(100.0, None, "3 of 20 runs beyond it", too_short=True)
    assert rule.settles({"p50": wide, "p99": short}), "more rounds would be measured for nothing"


USUAL = ("processes 3 %", "processes 10 %", "tails by process", "AR 0.9")


@pytest.mark.parametrize("asked", seldom_but(USUAL, STREAMS, lambda asked: asked.stream.name))
def test_the_interval_at_stopping_holds_the_truth(asked: Asked) -> None:
    result = stopped(asked, TRIES)
    assert result.claimed >= 0.9 * TRIES
    assert result.held / result.claimed >= 0.93
    assert result.ends[0] < result.ends[-1], "where it ends is left to the rounds"


def test_rounds_that_end_when_narrow_call_no_case_slower_than_itself() -> None:
    assert wrongly_called(STREAMS[0], TRIES) / TRIES <= 0.05


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


def test_samples_of_all_rounds_count() -> None:
    assert samples_needed(0.99, 100) == 268
    assert samples_needed(0.99, 400) == 0


@pytest.mark.parametrize("spread", [0.001, 0.01, 0.03, 0.1, 0.3])
def test_so_many_rounds_are_the_fewest_that_give_the_interval(spread: float) -> None:
    figures = np.exp(spread * np.array([-1.0, 0.0, 1.0]))  # of which the deviation is `spread`
    rounds = rounds_needed(figures.tolist())
    assert rounds is not None

    # Three rounds estimate a deviation: what it is at most, with 60 %, by the chi-square law.
    limit = spread / np.sqrt(chi2(2).ppf(0.4) / 2)

    def reach(n: int) -> float:
        deviation = spread if n <= 3 else limit
        return float(np.exp(t(n - 1).ppf(0.975) * deviation / np.sqrt(n)) - 1)

    assert reach(rounds) <= 0.05 * (1 + 1e-9)
    assert rounds == 3 or reach(rounds - 1) > 0.05


@pytest.mark.parametrize("unlucky", [0.7, 1.1, 2.0])
def test_as_many_as_there_are_suffice_just_where_their_interval_is_narrow(unlucky: float) -> None:
    figures = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.0 * unlucky]
    interval = interval_between(np.array(figures))
    assert interval is not None
    middle = typical(np.array(figures))
    half_width = max(interval.high / middle - 1.0, 1.0 - interval.low / middle)
    enough = rounds_needed(figures, share=half_width * (1 + 1e-9))
    assert enough is not None and enough <= len(figures)
    more = rounds_needed(figures, share=half_width * 0.95)
    assert more is not None and more > len(figures)


@pytest.mark.parametrize(
    ("skewed", "even", "share"),
    [([2.0] + [0.0] * 7, [1.0, -1.0] * 4, 0.03), ([2.0, 0.0, 0.0], [1.0, 0.0, -1.0], 0.6)],
)
def test_skewness_counts_where_rounds_are_too_few_for_ranks(
    skewed: list[float], even: list[float], share: float
) -> None:
    """Two cases whose logarithms have one deviation."""
    same = np.array(even) * np.std(skewed) / np.std(even)
    most, least = (
        rounds_needed(np.exp(0.1 * np.array(logs)).tolist(), share) for logs in (skewed, same)
    )
    assert most is not None and least is not None
    assert (most > least) == (len(even) < 6)


def test_one_round_more_is_enough_where_three_just_miss_it() -> None:
    """s = 0.02 is 0.028 at most: 4.303 s / sqrt(3) is above ln 1.05, 3.182 x 0.028 / 2 below."""
    assert rounds_needed([98.0, 100.0, 102.0]) == 4


def test_that_many_rounds_have_such_an_interval_when_they_are_measured() -> None:
    """In more than half of the tries: the spread of ten rounds is taken at its 60 % limit."""
    rng, narrow = np.random.default_rng(5), 0
    for _ in range(400):
        rounds = rounds_needed(np.exp(0.08 * rng.standard_normal(10)).tolist())
        assert rounds is not None
        interval = interval_between(np.exp(0.08 * rng.standard_normal(rounds)))
        assert interval is not None
        narrow += interval.high / interval.low <= 1.05**2
    assert 0.55 <= narrow / 400 <= 0.85


def test_rounds_that_correlate_need_more_and_two_do_not_tell() -> None:
    figures = [100.0, 101.0, 99.0, 100.5, 99.5, 103.0]
    alone, correlated = (rounds_needed(figures, 0.002, inflation=by) for by in (1.0, 1.5))
    assert alone is not None and correlated is not None
    assert correlated == pytest.approx(1.5**2 * alone, rel=0.1)
    assert rounds_needed([10.0, 11.0]) is None
    assert rounds_needed([10.0, 10.0, 10.0]) == 3
