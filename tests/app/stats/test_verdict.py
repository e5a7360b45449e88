"""Verdicts: how often a case differs from itself, what is found, and what is never decided."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from app.stats.intervals import round_correlation
from app.stats.verdict import (
    MINIMUM_DEVIATION,
    MINIMUM_PAST_RUNS,
    NOT_RESOLVED,
    RUN_VARIATION,
    STATED,
    TOO_FEW_ROUNDS,
    Difference,
    RoundPairs,
    binomial_interval,
    difference,
    from_history,
    interval_of,
    judge,
    judge_rounds,
    rounds_to_decide,
    smallest_change,
    smallest_change_between,
    typical_difference,
    with_minimum_spread,
)
from tests.simulated.aa import PROCESSES, WANDERING, wrong_runs
from tests.simulated.power import LESS_SURE, ROUNDS_OF, power
from tests.simulated.runs import called, past_of

TRIES = 2000


def rounds(rng: np.random.Generator, count: int, spread: float, change: float = 0.0) -> list[float]:
    """So many rounds' medians, log-normal, of a case that is slower by `change`."""
    figures: list[float] = (
        100.0 * (1 + change) * np.exp(spread * rng.standard_normal(count))
    ).tolist()
    return figures


@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize("count", [3, 12])
@pytest.mark.parametrize("spread", [0.002, 0.2])
def test_a_case_is_not_slower_than_itself(in_turn: bool, count: int, spread: float) -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(TRIES):
        change = difference(rounds(rng, count, spread), rounds(rng, count, spread), in_turn)
        wrong += judge([change])[0].word in ("faster", "slower")
    assert wrong / TRIES <= 0.05


def test_a_change_at_the_edge_of_the_band_is_not_called_beyond_it() -> None:
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(TRIES):
        change_value = difference(
            rounds(rng, 8, 0.01), rounds(rng, 8, 0.01, change=0.02), in_turn=True
        )
        wrong += judge([change_value])[0].word == "slower"
    assert wrong / TRIES <= 0.035  # 2.5 % and three standard errors


@pytest.mark.parametrize(("count", "spread"), [(6, 0.01), (12, 0.03), (40, 0.1)])
def test_the_smallest_change_is_found_in_nine_of_ten_tries(count: int, spread: float) -> None:
    rng = np.random.default_rng(4)
    inflation = 1.3
    error = inflation * spread * math.sqrt(2.0 / count)
    change = smallest_change(error, count - 1, inflation=inflation)
    detections = 0
    for _ in range(TRIES):
        trial = difference(
            rounds(rng, count, spread), rounds(rng, count, spread, change), in_turn=True
        )
        assert trial is not None
        error = trial.error / trial.inflation * inflation
        detections += judge([replace(trial, error=error)])[0].word == "slower"
    assert 0.87 <= detections / TRIES <= 0.93


@pytest.mark.parametrize(("spread", "change"), [(0.01, 0.05), (0.03, 0.1), (0.05, 0.3)])
def test_as_many_rounds_as_would_decide_do_so_in_nine_of_ten_tries(
    spread: float, change: float
) -> None:
    rng = np.random.default_rng(9)
    inflation = round_correlation(rounds(rng, 4, spread)).inflation
    error = inflation * spread * math.sqrt(2.0 / 4)
    observed = Difference(math.log1p(change), error, 3, in_turn=True, inflation=inflation)
    count = rounds_to_decide(observed)
    assert count is not None
    detections = 0
    for _ in range(TRIES):
        difference_value = difference(
            rounds(rng, count, spread), rounds(rng, count, spread, change), in_turn=True
        )
        detections += judge([difference_value])[0].word == "slower"
    assert detections / TRIES >= 0.87, "rounds come whole, so that it may be more"


def test_what_a_hundred_rounds_would_not_decide_is_hopeless_and_two_rounds_tell_nothing() -> None:
    assert rounds_to_decide(Difference(math.log1p(0.021), 0.05, 3, in_turn=True)) is None
    assert smallest_change_between([100.0, 101.0]) is None


@pytest.mark.parametrize("kind", [name for name in ROUNDS_OF if name not in LESS_SURE])
@pytest.mark.parametrize(("count", "least", "most"), [(3, 0.5, 1.5), (16, 0.85, 1.15)])
def test_rows_foretell_what_comparisons_find(
    kind: str, count: int, least: float, most: float
) -> None:
    result = power(kind, count, comparisons=4000, rows=1500)
    assert least <= result.foretold / result.found <= most


@pytest.mark.parametrize("count", [8, 200])
def test_runs_measured_apart_decide_nothing_small_however_many_rounds_they_have(
    count: int,
) -> None:
    rng = np.random.default_rng(7)

    def compare_unpaired(change: float) -> Difference | None:
        first, second = rounds(rng, count, 0.003), rounds(rng, count, 0.003, change)
        return difference(first, second, in_turn=False, variation=STATED)

    verdicts = judge([compare_unpaired(0.08), compare_unpaired(0.0), compare_unpaired(0.4)])
    assert [judgement.word for judgement in verdicts] == ["undecided", "undecided", "slower"]
    assert [judgement.reason for judgement in verdicts] == [RUN_VARIATION, RUN_VARIATION, ""]


def test_what_is_undecided_has_the_code_of_its_reason() -> None:
    rng = np.random.default_rng(7)
    few = difference([100.0, 101.0], [120.0, 121.0], in_turn=True)
    wide = difference(rounds(rng, 4, 0.3), rounds(rng, 4, 0.3), in_turn=False, variation=STATED)
    assert [judgement.reason for judgement in judge([few, wide])] == [TOO_FEW_ROUNDS, NOT_RESOLVED]


def test_the_interval_is_of_second_over_first() -> None:
    difference_value = difference([100.0] * 4, [200.0, 201.0, 199.0, 200.0], in_turn=True)
    (verdict,) = judge([difference_value])
    assert verdict.word == "slower" and verdict.ratio == pytest.approx(2.0, rel=0.01)
    assert verdict.interval is not None
    assert 1.98 < verdict.interval.low < 2.0 < verdict.interval.high < 2.02


@pytest.mark.parametrize("in_turn", [True, False])
def test_intervals_hold_the_truth_as_often_as_they_say(in_turn: bool) -> None:
    rng = np.random.default_rng(7)
    hits, tries, ratio = 0, 600, 1.2
    for _ in range(tries):
        levels = 100.0 * rng.lognormal(0.0, 0.05, (2, 5))
        interval = RoundPairs(levels[0], ratio * levels[1], in_turn).ratio_interval()
        assert interval is not None
        hits += interval.low <= ratio <= interval.high
    # Of 95 %, 600 tries give 94 to 96 % or so: four standard errors are 3.6 %.
    assert hits / tries == pytest.approx(0.95, abs=0.036)


RUN_TRIES = 400
WITHIN = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / RUN_TRIES)
"""5 % and three standard errors of so many tries."""


@pytest.mark.parametrize(
    ("is_stated", "deviation", "rounds"),
    [*product([True], (0.01, 0.05), (4, 64)), *product([False], (0.01, 0.1), (4, 64))],
)
def test_runs_that_differ_by_what_is_stated_or_as_their_history_does_are_not_called_slower(
    is_stated: bool, deviation: float, rounds: int
) -> None:
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(RUN_TRIES):
        variation = STATED if is_stated else past_of(rng, deviation, rounds, 6)
        wrong += called(rng, deviation, rounds, variation)
    assert wrong / RUN_TRIES <= WITHIN


def test_a_quiet_history_finds_what_a_stated_variation_does_not() -> None:
    rng = np.random.default_rng(13)
    detections = {"history": 0, "stated": 0}
    for _ in range(100):
        history = past_of(rng, 0.01, 8, 12)
        for source, variation in (("history", history), ("stated", STATED)):
            detections[source] += called(rng, 0.01, 8, variation, change=0.12)
    assert detections["history"] >= 95 and detections["stated"] <= 10


def test_a_history_is_not_believed_below_the_least_deviation_or_of_too_few_runs() -> None:
    found = from_history([1.0, 1.0001, 0.9999, 1.0])
    assert found is not None
    assert (found.deviation, found.freedom, found.source) == (MINIMUM_DEVIATION, 3, "history")
    assert from_history([0.0, 0.01, 0.02][: MINIMUM_PAST_RUNS - 1]) is None
    assert from_history([0.0, 0.01, 0.02], levels=2) is None, "as many levels as steps"


def test_the_value_is_the_difference_of_the_figures_that_rows_quote() -> None:
    """Geometric means: sqrt(8 * 18) = 12, sqrt(2 * 8) = 4."""
    estimate = typical_difference([8.0, 18.0], [2.0, 8.0])
    assert estimate is not None
    assert estimate.value == pytest.approx(8.0)
    assert estimate.interval is None, "two pairs say nothing of how pairs differ"
    same = typical_difference([10.0] * 4, [3.0] * 4)
    assert same is not None and same.interval is not None
    assert (same.value, same.interval.low, same.interval.high) == pytest.approx((7.0,) * 3)
    assert typical_difference([], []) is None


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
    slowed = [value + 30.0 for value in still]
    paired, alone = (typical_difference(slowed, other) for other in (still, [20.0] * 4))
    assert paired is not None and paired.interval is not None
    assert alone is not None and alone.interval is not None
    assert paired.interval.width < 0.1 * alone.interval.width


HELD = WANDERING[:3]


@pytest.mark.parametrize("rounds", [pytest.param(8, marks=pytest.mark.rare), 16])
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


def test_a_clock_too_coarse_for_the_band_shows_nothing_to_be_the_same() -> None:
    sides = [100.0, 100.1, 99.9] * 3, [100.1, 99.9, 100.0] * 3
    words = [judge([difference(*sides, True, tick)])[0].word for tick in (0.0, 0.03)]
    assert words == ["same", "undecided"]


def test_what_many_comparisons_show_widens_each() -> None:
    """One that looks independent among many that wander."""
    rng = np.random.default_rng(6)
    first, second = (WANDERING[0].figures(rng, (9, 16)) for _ in range(2))
    wandering = [
        difference(a.tolist(), b.tolist(), True) for a, b in zip(first, second, strict=True)
    ]
    alternating = difference([100.0] * 16, [101.0, 99.0] * 8, True)
    assert alternating is not None and alternating.inflation < 1.2
    wave = np.exp(0.01 * np.sin(np.arange(16) / 3.0))
    slow = difference((100.0 / wave).tolist(), (100.0 * wave).tolist(), True)
    assert slow is not None and slow.inflation > 1.8, "the ratios wander, the products do not"
    together = with_minimum_spread([*wandering, alternating], ["p50"] * 10)[-1]
    assert together is not None and together.inflation > 1.8


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


@pytest.mark.parametrize(
    ("errors", "names", "in_turn", "expected"),
    [
        # Variances of a pair 3, 0.03 and 300 (error^2 times 3 pairs): 3 becomes (2 x 3 + 3) / 3,
        # and 0.03 becomes (2 x 0.03 + 3) / 3.
        ([1.0, 0.1, 10.0], ["p50"] * 3, True, [1.0, ((2 * 0.03 + 3.0) / 9) ** 0.5, 10.0]),
        # Figures are judged by their own kind.
        ([0.1] * 3 + [10.0] * 3, ["p50"] * 3 + ["p99"] * 3, True, [0.1] * 3 + [10.0] * 3),
        ([0.1, 10.0], ["p50"] * 2, True, [0.1, 10.0]),
        ([0.1, 10.0, 20.0], ["p50"] * 3, False, [0.1, 10.0, 20.0]),
    ],
    ids=["one more pair", "kinds", "two", "apart"],
)
def test_a_comparison_has_one_more_pair_of_the_typical_variance(
    errors: list[float], names: list[str], in_turn: bool, expected: list[float]
) -> None:
    differences = [Difference(0.1, error, 2.0, in_turn=in_turn) for error in errors]
    raised = with_minimum_spread([*differences, None], [*names, "p50"])
    assert raised[-1] is None
    assert [one.error for one in raised if one is not None] == pytest.approx(expected)


def test_rounds_of_a_named_figure_spread_at_least_as_is_typical_of_it() -> None:
    rng = np.random.default_rng(12)
    noisy = [tuple(100.0 * np.exp(0.05 * rng.standard_normal(8))) for _ in range(20)]
    exact = RoundPairs((100.0,) * 8, (110.0,) * 8, figure="p50")
    named = judge_rounds([exact, *(RoundPairs(a, b, figure="p50") for a, b in pairwise(noisy))])[0]
    nameless = judge_rounds([replace(exact, figure="")])[0]
    assert named.interval is not None and nameless.interval is not None
    assert nameless.interval.high - nameless.interval.low < 1e-9
    assert named.interval.high - named.interval.low > 0.01


def test_what_the_ticks_leave_open_widens_an_interval() -> None:
    change = Difference(0.0, 0.01, 9, in_turn=True)
    ticks = replace(change, resolution=0.05)
    alone, wide = (math.log(interval_of(d, 0.95).high) for d in (change, ticks))
    assert wide == pytest.approx(alone + 0.05)
