"""Typical quantiles and means: what processes and runs leave uncertain, fast tails as slow ones."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest

from app.stats.estimates import Rounds, marks_of, typical_mean, typical_quantile, upper_bound
from app.stats.intervals import (
    MOSTLY_DEPENDENT,
    RARELY_DEPENDENT,
    RoundCorrelation,
    interval_between,
    pairs_beyond,
    round_correlation,
    tail_allowance,
    typical,
    unseen_share,
)
from app.stats.quantiles import BINS, Histogram
from tests.simulated.machines import fractional_noise


def drawn(runs: int, spells: int = 1) -> list[np.ndarray]:
    """Six rounds with a slow tail, whose slow runs come in spells of so many."""
    rng = np.random.default_rng(11)
    rounds = []
    for _ in range(6):
        slow = np.repeat(rng.random(runs // spells) < 0.03, spells)
        rounds.append(100.0 * np.exp(0.05 * rng.standard_normal(len(slow)) + 0.4 * slow))
    return rounds


@pytest.mark.parametrize(("runs", "spells"), [(5000, 1), (20_000, 20)])
def test_a_fast_tail_is_the_mirror_of_a_slow_one(runs: int, spells: int) -> None:
    rounds = drawn(runs, spells)
    slow = typical_quantile(Rounds.of(rounds), 0.98)
    fast = typical_quantile(Rounds.of([1.0 / latencies for latencies in rounds]), 0.02)
    assert slow.value is not None and slow.interval is not None
    assert fast.value is not None and fast.interval is not None
    assert fast.value == pytest.approx(1.0 / slow.value, rel=2e-3)
    assert fast.interval.low == pytest.approx(1.0 / slow.interval.high, rel=5e-3)
    assert fast.interval.high == pytest.approx(1.0 / slow.interval.low, rel=5e-3)


def test_a_value_is_shown_where_dependent_runs_support_no_interval() -> None:
    """All runs beyond the p99 of a round follow each other: enough runs, and one event."""
    rng = np.random.default_rng(12)
    rounds = []
    for begin in (100, 1200, 700, 300):
        latencies = 100.0 + rng.random(2000)
        latencies[begin : begin + 40] = np.linspace(130.0, 150.0, 40)
        rounds.append(latencies)
    dependent_rounds = Rounds.of(rounds)
    estimate = typical_quantile(dependent_rounds, 0.99)
    assert estimate.value == pytest.approx(140.0, abs=0.5)
    assert dependent_rounds.independent(0.99) == (100,) * 4, "20 runs in a row count as one"
    assert dependent_rounds.clusters(0.99) < 2
    assert estimate.interval is None and estimate.absent and estimate.too_short


@pytest.mark.parametrize(
    ("gap_s", "is_contended", "marks"),
    [
        (None, False, ("rounds_correlated",)),
        (3.0, False, ("rounds_correlated", "rounds_close_in_time")),
        (30.0, False, ("rounds_correlated",)),
        (30.0, True, ("rounds_correlated", "rounds_close_in_time", "contended")),
        (42.0, True, ("rounds_correlated", "contended")),
    ],
)
def test_rounds_that_correlate_and_those_within_one_minute_or_ten_are_marked(
    gap_s: float | None, is_contended: bool, marks: tuple[str, ...]
) -> None:
    levels = np.exp(0.05 * np.sin(np.arange(16) / 4.0))
    latencies = [level * (100.0 + np.arange(2000) % 7) for level in levels]
    starts_s = [] if gap_s is None else [gap_s * k for k in range(16)]
    rounds = Rounds.of(latencies, starts_s=starts_s, is_contended=is_contended)
    assert set(marks_of(rounds, [typical_quantile(rounds, 0.5)])) == set(marks)


def test_contention_widens_the_mean_and_upper_percentiles_and_not_the_median() -> None:
    """Rounds that differ far more than their runs, so that rounds alone decide the widths."""
    levels = 100.0 * np.exp(0.05 * np.random.default_rng(7).standard_normal(8))
    rounds = [level * np.linspace(0.99, 1.01, 5000) for level in levels]
    rng = np.random.default_rng(9)
    permutations = [rng.permutation(latencies) for latencies in rounds]
    quiet, contended_rounds = Rounds.of(permutations), Rounds.of(permutations, is_contended=True)
    assert typical_quantile(contended_rounds, 0.5) == typical_quantile(quiet, 0.5)
    pairs = [
        (typical_quantile(entry, 0.99), typical_mean(entry)) for entry in (quiet, contended_rounds)
    ]
    for quiet_estimate, wide_estimate in zip(*pairs, strict=True):
        assert quiet_estimate.interval is not None and wide_estimate.interval is not None
        assert quiet_estimate.value == wide_estimate.value
        assert wide_estimate.interval.width > 1.3 * quiet_estimate.interval.width
    bounds = [upper_bound(entry, 0.99).value for entry in (quiet, contended_rounds)]
    assert bounds[0] is not None and bounds[1] is not None and bounds[0] < bounds[1]
    assert marks_of(contended_rounds) == ("contended",) and marks_of(quiet) == ()


def test_a_surer_interval_takes_more_runs_and_says_so() -> None:
    rounds = Rounds.of([np.array([100.0 + k, 101.0 + k]) for k in range(4)])
    assert typical_quantile(rounds, 0.5).interval is not None
    sure = typical_quantile(rounds, 0.5, confidence=0.995)
    assert sure.value is not None and sure.interval is None
    assert sure.absent == "8 of 9 independent runs for an interval"


def test_processes_that_agree_by_chance_leave_the_uncertainty_of_their_runs() -> None:
    """The same runs in other orders: the means agree exactly, and runs are uncertain all the same.

    The standard error of a mean of 4 x 2,000 runs that spread by 20 is 20 / sqrt(8000) = 0.22.
    """
    rng = np.random.default_rng(1)
    runs = 100.0 + 20.0 * rng.standard_normal(2000)
    interval = typical_mean(Rounds.of([rng.permutation(runs) for _ in range(4)])).interval
    assert interval is not None
    assert interval.width / 2 == pytest.approx(1.96 * 0.22, rel=0.35)


def test_processes_that_differ_decide_the_interval() -> None:
    rng = np.random.default_rng(2)
    levels = np.array([100.0, 130.0, 90.0, 110.0])
    rounds = [level + 0.1 * rng.standard_normal(2000) for level in levels]
    interval = typical_mean(Rounds.of(rounds)).interval
    means = np.array([latencies.mean() for latencies in rounds])
    expected = interval_between(means, inflation=round_correlation(means).inflation)
    assert interval == expected


def test_two_rounds_have_a_mean_without_an_interval_and_equal_ones_one_without_width() -> None:
    estimate = typical_mean(Rounds.of([np.full(50, 2.0), np.full(50, 8.0)]))
    assert (estimate.value, estimate.interval, estimate.absent) == (4.0, None, "2 of 3 rounds")
    assert interval_between(np.array([9.5, 10.0])) is None
    assert interval_between(np.arange(9.0)) is None, "a latency of 0"
    equal = interval_between(np.full(5, 7.0))
    assert equal is not None and (equal.low, equal.high) == pytest.approx((7.0, 7.0))
    assert typical(np.array([50.0, 100.0, 200.0])) == pytest.approx(100.0)
    assert typical(np.array([50.0, 200.0])) == pytest.approx(100.0)


@pytest.mark.parametrize("inflation", [1.0, 1.5])
def test_symmetric_rounds_have_the_interval_of_student_times_the_inflation(
    inflation: float,
) -> None:
    """ln 9, ln 10, ln 11.11: s = 0.1054, t(2, 97.5 %) = 4.303, 10 exp(+-4.303 s / sqrt(3))."""
    interval = interval_between(np.array([9.0, 10.0, 100.0 / 9.0]), inflation=inflation)
    assert interval is not None
    reach = inflation * 4.302653 * 0.105361 / math.sqrt(3.0)
    assert (interval.low, interval.high) == pytest.approx(
        (10.0 * math.exp(-reach), 10.0 * math.exp(reach)), rel=1e-4
    )


def test_the_interval_lies_between_means_of_pairs_by_their_ranks() -> None:
    """Wilcoxon's tables: of 6 the rank sum is at most 0 and 1 in 1/64 and 2/64 of cases, of 8 at
    most 3 and 4 in 5/256 and 7/256, of 12 at most 13 and 14 in 87 and 107 of 4,096. What correlates
    reaches farther from the pseudo-median, which the powers of 2 have at 0."""
    for rounds, place, chance, further in ((6, 1, 1, 1), (8, 4, 5, 2), (12, 14, 87, 20)):
        part = (0.025 * 2**rounds - chance) / further
        logarithms = np.arange(rounds) - (rounds - 1) / 2.0
        means = sorted((a + b) / 2.0 for n, a in enumerate(logarithms) for b in logarithms[n:])
        for inflation in (1.0, 1.5):
            interval = interval_between(2.0**logarithms, inflation=inflation)
            assert interval is not None
            ends = np.log2([interval.low, interval.high])
            reach = means[place - 1] + part * (means[place] - means[place - 1])
            assert ends == pytest.approx([inflation * reach, -inflation * reach])


@pytest.mark.parametrize(("rounds", "off"), [(9, 0.0), (50, 0.0), (61, 1.0), (200, 1.0)])
def test_ranks_are_those_of_all_sums_of_ranks(rounds: int, off: float) -> None:
    """Counted in whole numbers, with a confidence that no other test asks for."""
    sums = [1]
    for rank in range(1, rounds + 1):
        sums = [a + b for a, b in zip(sums + [0] * rank, [0] * rank + sums, strict=True)]
    rare = [total for total in accumulate(sums) if 200 * total <= 13 * 2**rounds]
    assert -off <= pairs_beyond(rounds, 0.87) - len(rare) < 1.0 + off


def test_a_rare_slow_process_hardly_moves_what_is_typical() -> None:
    """One of eight is three times slower: the geometric mean moves by 15 %."""
    rounds = np.array([9.8, 9.9, 9.95, 10.0, 10.05, 10.1, 10.2, 30.0])
    assert typical(rounds) == pytest.approx(10.0, rel=0.02)
    assert np.exp(np.log(rounds).mean()) > 11.4
    interval = interval_between(rounds)
    assert interval is not None and 9.8 < interval.low < 10.0 < interval.high < 20.0


def test_an_interval_holds_the_figure_that_it_is_of() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        rounds = np.exp(0.01 * rng.standard_t(1, rng.integers(3, 9)))
        interval = interval_between(rounds, confidence=0.5)
        assert interval is not None and interval.low <= typical(rounds) <= interval.high


@pytest.mark.parametrize("rounds", [1, 8, 59])
def test_a_mode_of_the_unseen_share_is_missed_in_one_run_of_twenty(rounds: int) -> None:
    assert (1.0 - unseen_share(rounds)) ** rounds == pytest.approx(0.05)


@pytest.mark.parametrize("rounds", [5, 10, 20])
def test_unlucky_processes_are_covered_too(rounds: int) -> None:
    """Exponential logarithms: the mean of two lies below 0.8392 in half of all cases, where
    (1 + 2 x) exp(-2 x) is a half."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(2000):
        interval = interval_between(np.exp(0.03 * rng.exponential(size=rounds)))
        assert interval is not None
        hits += interval.low <= np.exp(0.03 * 0.8392) <= interval.high
    assert 0.93 <= hits / 2000 <= 0.97


def test_quantiles_are_within_half_a_bin_of_the_samples() -> None:
    """Nothing is lost outside the grid, and an empty histogram has none."""
    latency_ns = np.random.default_rng(0).lognormal(10.0, 1.0, 20_000).astype(np.int64)
    histogram = Histogram()
    assert histogram.quantile_s(0.5) is None
    for part in np.array_split(latency_ns, 7):
        histogram.add(part)
    for quantile in (0.5, 0.9, 0.99):
        exact = np.sort(latency_ns)[int(np.ceil(quantile * 20_000)) - 1] * 1e-9
        assert histogram.quantile_s(quantile) == pytest.approx(exact, rel=0.0117)
    before = histogram.counts[[0, BINS - 1]].copy()
    histogram.add(np.array([0, 1, 10**12]))
    assert histogram.total == 20_003
    assert (histogram.counts[[0, BINS - 1]] - before).tolist() == [2, 1]


TRIES = 400
Draw = Callable[[np.random.Generator, int], np.ndarray]

INDEPENDENT: dict[str, Draw] = {
    "normal": lambda rng, rounds: rng.standard_normal(rounds),
    "skewed": lambda rng, rounds: rng.exponential(size=rounds),
    "heavy tails": lambda rng, rounds: rng.standard_t(3, rounds),
}


def wandering(rng: np.random.Generator, rounds: int) -> np.ndarray:
    return fractional_noise(rng, rounds, 0.75)


def drawn_levels(draw: Draw, rounds: int, tries: int = TRIES) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.exp(0.03 * draw(rng, rounds)) for _ in range(tries)]


@pytest.mark.parametrize("rounds", [5, 8, 16])
@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rounds_rarely_correlate(kind: str, rounds: int) -> None:
    found = [round_correlation(figures) for figures in drawn_levels(INDEPENDENT[kind], rounds)]
    lags = [correlation.lag1 for correlation in found if correlation.lag1 is not None]
    assert abs(np.mean(lags)) < 0.05
    assert np.mean([correlation.is_significant for correlation in found]) <= 0.025 + 0.02
    assert np.mean([correlation.inflation for correlation in found]) < 1.3


def test_a_correlation_of_neighbours_is_estimated() -> None:
    """H = 0.75 has a correlation of 2^0.5 - 1 = 0.41 at lag 1."""
    lags = [round_correlation(figures).lag1 for figures in drawn_levels(wandering, 400, 40)]
    assert np.mean([lag1 for lag1 in lags if lag1 is not None]) == pytest.approx(0.41, abs=0.05)


def test_the_variance_under_independence_is_that_of_all_orders() -> None:
    rng = np.random.default_rng(5)
    figures = np.exp(rng.exponential(size=7))
    deviations = np.log(figures) - np.log(figures).mean()
    orders = [rng.permutation(deviations) for _ in range(20_000)]
    lags = np.array([order[1:] @ order[:-1] / (deviations @ deviations) for order in orders])
    limit = 2.05 * lags.std()
    for place, lag in enumerate(lags[:300]):
        is_significant = round_correlation(np.exp(orders[place])).is_significant
        if abs(lag + 1 / 7 - limit) > 0.01:
            assert is_significant == (lag + 1 / 7 > limit)


def test_rounds_are_put_in_the_order_of_their_starts() -> None:
    figures = [100.0, 101.0, 103.0, 104.0, 107.0, 108.0]
    starts = [5.0, 15.0, 25.0, 35.0, 45.0, 55.0]
    order = [3, 0, 5, 1, 4, 2]
    expected = round_correlation(figures, starts)
    in_order = round_correlation([figures[k] for k in order], [starts[k] for k in order])
    assert in_order == expected and expected.inflation > 1.0
    assert expected.span_s == 50.0 and expected.is_close(False)


def test_rounds_far_apart_correlate_less_than_neighbours() -> None:
    """The same figures, the second half an hour later: the halves are nearly independent."""
    figures = [100.0, 101.0, 102.0, 103.0, 99.0, 100.0, 101.0, 102.0]
    near_correlation = round_correlation(figures, [10.0 * k for k in range(8)])
    far_correlation = round_correlation(figures, [10.0 * k + 3600.0 * (k >= 4) for k in range(8)])
    assert 1.0 < far_correlation.inflation < near_correlation.inflation
    assert (
        near_correlation.span_s == 70.0
        and not near_correlation.is_close(False)
        and near_correlation.is_close(True)
    )


@pytest.mark.parametrize(
    ("figures", "starts"),
    [([1.0, 2.0], ()), ([5.0] * 8, ()), ([0.0, 1.0, 2.0, 3.0, 4.0], ())],
    ids=["no interval", "equal rounds", "a latency of 0"],
)
def test_what_shows_no_correlation_widens_nothing(
    figures: list[float], starts: tuple[float, ...]
) -> None:
    assert round_correlation(figures, starts) == RoundCorrelation(len(figures))


def test_three_rounds_are_widened_by_the_prior_alone() -> None:
    """By the definition: rounds of lag-1 correlation r whose mean pair correlates by c."""
    rho = np.arange(1, 9) / 10.0
    pairs = rho * (2.0 + 2.0 ** (np.log2(1.0 + rho) - 1.0)) / 3.0
    factors = (1.0 + 2.0 * pairs) / (1.0 - pairs)
    for prior in (RARELY_DEPENDENT, MOSTLY_DEPENDENT):
        expected = np.sqrt(1.0 - prior + prior * factors.mean())
        for figures in ([1.0, 2.0, 3.0], [5.0, 1.0, 2.0]):
            correlation = round_correlation(figures, prior=prior)
            assert correlation.inflation == pytest.approx(expected)
            assert correlation.lag1 is None and not correlation.is_significant


def test_intervals_of_mostly_dependent_rounds_hold_on_a_machine_with_long_memory() -> None:
    """Of 5 to 32 rounds, for which intervals of independent rounds hold less and less often."""
    for rounds, tries in ((5, TRIES), (8, TRIES), (32, 200)):
        hits = np.zeros(2)
        for figures in drawn_levels(wandering, rounds, tries):
            widening = round_correlation(figures, prior=MOSTLY_DEPENDENT).inflation
            for index, inflation in enumerate((1.0, widening)):
                interval = interval_between(figures, inflation=inflation)
                assert interval is not None
                hits[index] += interval.low <= 1.0 <= interval.high
        assert hits[0] < 0.86 * tries
        assert hits[1] >= 0.91 * tries


def test_many_rounds_take_little_memory() -> None:
    """All pairs of 20,000 rounds would be 200 million."""
    figures = np.exp(0.03 * np.random.default_rng(4).standard_normal(20_000))
    tracemalloc.start()
    correlation = round_correlation(figures, np.arange(20_000.0).tolist())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert correlation.inflation == pytest.approx(1.0, abs=0.1)
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("slow", "rounds", "share"),
    [
        (0, 8, 0.0),
        (1, 7, 0.0),
        (1, 8, 1.0),  # no eight numbers have a longer tail
        (4, 8, 0.0),
        # The kurtosis of 2 in 10 is 3.25, of normal numbers 27 / 11, and 8 + 1 / 9 at most.
        (2, 10, (3.25 - 27 / 11) / (8 + 1 / 9 - 27 / 11)),
    ],
)
def test_slow_rounds_are_allowed_for_by_their_kurtosis(
    slow: int, rounds: int, share: float
) -> None:
    logarithms = np.array([0.5] * slow + [0.25] * (rounds - slow))
    assert math.log(tail_allowance(logarithms)) == pytest.approx(1.4 * share)
