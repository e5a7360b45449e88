"""Intervals over rounds: distributions, the figure of a typical process, correlation of rounds.

scipy takes longer to load than most of this program: whoever shows no interval yet, as a window
that opens, goes without it until the first is asked for.

A round is a process, and processes differ more than iterations do, however many of these there
are. So the figure that is quoted is a typical process's, each round weighs alike, and the
interval comes from how the rounds' own figures spread.

A machine whose speed wanders over minutes gives neighbouring rounds similar levels. They then
spread less than independent rounds would, and their mean is less sure than their spread says.
Pure functions of the rounds' own figures and of the times at which the rounds began.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from app.stats.quantiles import CONFIDENCE, Interval, mean

_CACHE_SIZE = 4096
"""Quantiles that are kept: the cases of a run ask for the same few."""


@lru_cache(maxsize=_CACHE_SIZE)
def t_quantile(freedom: float, share: float) -> float:
    """What so large a share of Student's t with so many degrees of freedom lies below."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def t_share(freedom: float, value: float) -> float:
    """Which share of Student's t with so many degrees of freedom lies below the value."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


@lru_cache(maxsize=_CACHE_SIZE)
def noncentrality(freedom: float, value: float, share: float) -> float:
    """That of the noncentral t of which so large a share lies below the value."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, share, value))


@lru_cache(maxsize=_CACHE_SIZE)
def chi_square_quantile(freedom: float, share: float) -> float:
    """What so large a share of the chi-square distribution lies below."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1.0 - share))


def beta_quantile(a: float, b: float, share: float) -> float:
    """What so large a share of the beta distribution with these two shapes lies below."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, share))


def binomial_share(successes: int, tries: int, chance: float) -> float:
    """How likely so many successes or fewer are in so many tries."""
    from scipy.special import bdtr

    return float(bdtr(successes, tries, chance))


MINIMUM_ROUNDS = 3
"""With two rounds Student's t has one degree of freedom and reaches 12.7 standard errors."""

_SPREAD_SHARE = 0.6
_SHAPE_ROUNDS = 8
"""Fewer rounds do not show the shape of their distribution."""
_TAIL_WEIGHT = 1.4
"""The logarithm of the factor for rounds of which one alone differs from the others."""


def typical(per_round: np.ndarray) -> float:
    """The pseudo-median on the scale of ratios: the median of the geometric means of all pairs of
    rounds, each with itself too (J. L. Hodges and E. L. Lehmann, Ann. Math. Statist. 34, 1963).

    For figures that spread evenly it is the geometric mean, and 95 % as sure in normal noise. It
    differs where a few processes are far off. No eight rounds show a mode that one process in
    twenty is in: two runs of three see none of it, and their interval can't hold a mean to which
    it belongs. The pseudo-median hardly depends on modes that fewer than three in ten processes are
    in, so that runs which see the mode and runs which don't estimate the same figure. What such
    processes do is in the slowest round's figure, and in what so many rounds can't exclude
    (`unseen_share`).
    """
    if per_round.min() <= 0.0:
        return 0.0
    return math.exp(_median(_pair_means(np.log(per_round))))


def _pair_means(logarithms: np.ndarray) -> np.ndarray:
    """The means of all pairs, of each number with itself too, ascending."""
    first, second = _pairs(len(logarithms))
    return np.sort(0.5 * (logarithms[first] + logarithms[second]))


def _median(ascending: np.ndarray) -> float:
    count = len(ascending)
    return float(ascending[(count - 1) // 2] + ascending[count // 2]) / 2.0


@lru_cache(maxsize=64)
def _pairs(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of all pairs of rounds; making them takes longer than all else of a figure."""
    first, second = np.triu_indices(rounds)
    return first, second


def unseen_share(rounds: int) -> float:
    """The largest share of slow processes that so many rounds miss in one run of twenty."""
    return float(1.0 - 0.05 ** (1.0 / rounds))


def interval_between(
    per_round: np.ndarray, confidence: float = CONFIDENCE, inflation: float = 1.0
) -> Interval | None:
    """The interval of `typical` from n processes' own figures, on their logarithms.

    Latencies are positive and their spread is proportional, hence the logarithm. The pseudo-median
    is the middle of the ascending means of all pairs, and its interval lies between two places
    among them that are equally far from the ends: as many beyond either as Wilcoxon's signed-rank
    statistic of n processes is rarely below (Hodges & Lehmann, as above; J. W. Tukey, Memorandum
    Report 17, Princeton, 1949). One process of eight that is far off moves the end on its side by
    half as far. Six processes are the fewest that have ranks for 95 %.

    Fewer have Student's t (`student_interval`). `inflation` multiplies the standard error, for
    rounds that correlate (`round_correlation`). None with fewer than three rounds.
    """
    rounds = len(per_round)
    beyond = pairs_beyond(rounds, confidence)
    if not beyond or per_round.min() <= 0.0:
        return student_interval(per_round, confidence, inflation)
    means = _pair_means(np.log(per_round))
    ends = beyond - 1.0, len(means) - beyond
    low, high = np.interp(ends, np.arange(len(means)), means).tolist()
    middle = _median(means)
    return Interval(
        math.exp(middle - inflation * (middle - low)),
        math.exp(middle + inflation * (high - middle)),
    )


def student_interval(
    per_round: np.ndarray, confidence: float = CONFIDENCE, inflation: float = 1.0
) -> Interval | None:
    """The same by the spread of all figures, which also counts how far off a rare process is.

    m +- t s / sqrt(n) with n - 1 degrees of freedom. Processes are unlucky more often than lucky,
    so their logarithms are skewed, and t falls short on the long side; the interval is widened to
    hold Hall's too, whose transformation removes the skewness (P. Hall, J. R. Statist. Soc. B 54,
    1992, section 2). It is widened to hold the pseudo-median, too.
    """
    rounds = len(per_round)
    if rounds < MINIMUM_ROUNDS or per_round.min() <= 0.0:
        return None
    logarithms = np.log(per_round)
    middle = mean(logarithms)
    error = inflation * deviation(logarithms) / math.sqrt(rounds)
    if error == 0.0:
        return Interval(float(per_round[0]), float(per_round[0]))
    low_reach, high_reach = reaches(rounds, skewness_of(logarithms), confidence)
    typical_value = typical(per_round)
    low, high = math.exp(middle - low_reach * error), math.exp(middle + high_reach * error)
    return Interval(min(low, typical_value), max(high, typical_value))


_EXACT_ROUNDS = 50
"""The normal law has the ranks of more rounds to within one of hundreds."""


@lru_cache(maxsize=_CACHE_SIZE)
def pairs_beyond(rounds: int, confidence: float) -> float:
    """The place, from either end of the ascending means of pairs, at which the interval of so many
    rounds ends: that k of which 2 P(W < k) is 1 - confidence, where W is the sum of the ranks that
    a fair coin draws from 1 to n. The chance lies between those of two whole numbers, and so does
    the place (T. P. Hettmansperger and S. J. Sheather, Statist. Probab. Lett. 4, 1986, for the
    median): eight rounds have 96.1 % at the fourth and 94.5 % at the fifth of 36. 0 where no k is.
    """
    share = (1.0 - confidence) / 2.0
    if rounds > _EXACT_ROUNDS:
        spread = math.sqrt(rounds * (rounds + 1) * (2 * rounds + 1) / 24.0)
        return rounds * (rounds + 1) / 4.0 + 0.5 + NormalDist().inv_cdf(share) * spread
    chances = np.ones(1)
    for rank in range(1, rounds + 1):
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    below = np.cumsum(chances)
    return float(np.interp(share, below, np.arange(1.0, len(below) + 1.0), left=0.0))


def reaches(rounds: int, skewness: float, confidence: float) -> tuple[float, float]:
    """How many standard errors the interval of so many rounds' mean reaches below and above it."""
    reach = t_quantile(rounds - 1, 0.5 + confidence / 2.0)
    low_reach = max(reach, _without_skewness(reach, skewness / math.sqrt(rounds)))
    high_reach = max(reach, -_without_skewness(-reach, skewness / math.sqrt(rounds)))
    return low_reach, high_reach


def skewness_of(logarithms: np.ndarray) -> float:
    """The third standardised moment of numbers that are not all alike."""
    residuals = logarithms - mean(logarithms)
    squares = residuals * residuals
    return mean(residuals * squares) / mean(squares) ** 1.5


def deviation(values: np.ndarray) -> float:
    """The standard deviation with n - 1 degrees of freedom."""
    residuals = values - mean(values)
    return math.sqrt(float(np.add.reduce(residuals * residuals)) / (len(values) - 1))


def spread_limit(spread: float, freedom: float) -> float:
    """What a standard deviation is at most, with 60 % where rounds are normal.

    Half of the samples have a deviation below the median of its distribution, which lies below the
    true one; 60 % leaves room for skewed rounds. With it and `tail_allowance` the smallest change
    of eight rounds or more is foretold to within 15 % (`tests.benchmarks power`).
    """
    return spread / math.sqrt(chi_square_quantile(freedom, 1.0 - _SPREAD_SHARE) / freedom)


def tail_allowance(logarithms: np.ndarray) -> float:
    """The factor by which the spread of these rounds is too small where processes have long tails.

    Most groups of rounds contain none of the slow processes that decide what nine of ten
    comparisons find. Excess kurtosis shows such tails, up to the largest that n numbers can have,
    which all but one of them alike have. The share of that, above the n numbers of a normal
    distribution, enters exponentially. 1 below eight rounds, of which the kurtosis shows nothing.
    """
    rounds = len(logarithms)
    residuals = logarithms - mean(logarithms)
    variance = mean(residuals * residuals)
    if rounds < _SHAPE_ROUNDS or not variance:
        return 1.0
    kurtosis = mean(residuals**4) / variance**2
    normal, largest = 3.0 * (rounds - 1) / (rounds + 1), rounds - 2 + 1 / (rounds - 1)
    return math.exp(_TAIL_WEIGHT * max(0.0, (kurtosis - normal) / (largest - normal)))


def _without_skewness(reach: float, skewness: float) -> float:
    """The standard errors that Hall's cubic transformation takes to `reach`.

    The inverse of T + a T^2 / 3 + a^2 T^3 / 27 + a / 6, with a the skewness over sqrt(n).
    """
    if abs(skewness) < 1e-6:
        return reach
    inner = 1.0 + skewness * (reach - skewness / 6.0)
    return 3.0 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1.0)


_LEAST_TO_ESTIMATE = 5
"""Fewer rounds estimate no correlation."""
CLOSE_S = 60.0
CLOSE_CONTENDED_S = 540.0
"""Rounds that all began within so many seconds may share one state of the machine; the second
where other work took the core: in three recorded runs of half an hour eight rounds over ten
minutes held the mean and the p99 of the whole run in 86 to 100 %, over two minutes in 52 to 98 %.
The preset `standard` then takes ten (`contended_spread_s`). A little less, since a case may be the
last of the first pass and the first of the last one."""
RARELY_DEPENDENT = 0.1
"""The prior probability that the rounds of a case depend on each other."""
MOSTLY_DEPENDENT = 0.8
"""The same of figures that follow how much of the core other work takes (the mean, the throughput,
upper percentiles), where it took some: that amount changes over minutes. In two of three recorded
runs (docs/trust.md) the means of neighbouring passes correlate by 0.55 to 0.85."""
_SIGNIFICANT = 2.05
"""Standard errors that independent rounds exceed in 1 to 3 of 100 cases."""
_CORRELATIONS = tuple(step / 10.0 for step in range(1, 9))
"""Of neighbouring rounds that depend, all equally likely beforehand. Beyond 0.8 the model has no
use: the rounds are hardly more than one."""
_MOST_PLACES = 200
"""Of more rounds the mean correlation of all pairs is computed from so many of them."""


@dataclass(frozen=True, slots=True)
class RoundCorrelation:
    """`lag1` is the correlation of neighbours, corrected for bias and not shrunk, `inflation` what
    the standard error of the rounds' mean is to be multiplied by. `is_significant`: independent
    rounds rarely correlate as much. `span_s` is the time between the first and the last start."""

    rounds: int
    lag1: float | None = None
    inflation: float = 1.0
    is_significant: bool = False
    span_s: float | None = None

    def is_close(self, is_contended: bool) -> bool:
        """Whether all rounds may have seen one state of the machine."""
        limit_s = CLOSE_CONTENDED_S if is_contended else CLOSE_S
        return self.span_s is not None and self.span_s < limit_s


def round_correlation(
    figures: Sequence[float] | np.ndarray,
    starts_s: Sequence[float] = (),
    prior: float = RARELY_DEPENDENT,
) -> RoundCorrelation:
    """Of the rounds' own positive figures, and the times at which they began, empty if not known.

    The correlation of neighbours in time is r + 1/n, since independent rounds have -1/n in the
    mean (M. G. Kendall, Biometrika 41, 1954), with the variance that all orders of these figures
    give. Few rounds estimate it poorly, and rounds that all lie on one slope of a slow change look
    nearly independent. So the variance of the rounds' mean is averaged over what the correlation
    may be: 0, or with the probability `prior` one of `_CORRELATIONS`, each weighted by how well it
    explains the one observed. Fewer than five rounds have the prior alone.
    """
    values = np.asarray(figures, float)
    rounds, times = len(values), np.asarray(starts_s, float)
    span = float(times.max() - times.min()) if rounds and len(times) == rounds else None
    if rounds < MINIMUM_ROUNDS or values.min() <= 0.0:
        return RoundCorrelation(rounds, span_s=span)
    order = np.argsort(times, kind="stable") if span is not None else np.arange(rounds)
    logs = np.log(values[order])
    logs -= logs.mean()
    squares = float(logs @ logs)
    if squares <= 1e-24 * rounds:
        return RoundCorrelation(rounds, span_s=span)
    ordered_times = tuple(times[order].tolist()) if span else ()
    if rounds < _LEAST_TO_ESTIMATE:
        return RoundCorrelation(
            rounds, inflation=_prior_inflation(ordered_times, rounds, prior), span_s=span
        )
    observed, factors = _long_memory(ordered_times, rounds)
    weights = _weights(prior)
    lag1 = float(logs[1:] @ logs[:-1]) / squares + 1.0 / rounds
    variance = _variance(logs, squares)
    misfit = np.square(lag1 - observed) / (2.0 * variance)
    weights *= np.exp(misfit.min() - misfit)
    return RoundCorrelation(
        rounds,
        lag1,
        _inflation(weights, factors),
        lag1 > _SIGNIFICANT * math.sqrt(variance),
        span,
    )


def _weights(prior: float) -> np.ndarray:
    """Of 0 and of each of `_CORRELATIONS`, before any is observed."""
    return np.array([1.0 - prior, *[prior / len(_CORRELATIONS)] * len(_CORRELATIONS)])


@lru_cache(maxsize=64)
def _prior_inflation(times: tuple[float, ...], rounds: int, prior: float) -> float:
    return _inflation(_weights(prior), _long_memory(times, rounds)[1])


def _inflation(weights: np.ndarray, factors: np.ndarray) -> float:
    return math.sqrt(float(weights @ factors) / float(weights.sum()))


@lru_cache(maxsize=64)
def _long_memory(times: tuple[float, ...], rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """For 0 and each of `_CORRELATIONS`: which correlation of neighbours such rounds show in the
    mean, and by what the variance of their mean exceeds what their spread says. `times` are in
    ascending order, empty where they are not known.

    Machines have long memory: the correlation r of neighbours decays with the distance k, in
    median gaps between rounds, as r k^(2H - 2), with H that of fractional Gaussian noise of this r.
    With the mean correlation c of all pairs the variance of the mean is 1 + (n - 1) c times that of
    independent rounds, and the rounds' own variance 1 - c times. Taking their mean out hides c of
    their correlation: neighbours that correlate by r show (r - c) / (1 - c).
    """
    places = np.array(times) if times else np.arange(rounds, dtype=float)
    usual = float(np.median(np.diff(places)))
    if usual <= 0.0:
        places, usual = np.arange(rounds, dtype=float), 1.0
    gaps = np.maximum(1.0, np.diff(places) / usual)
    if rounds > _MOST_PLACES:
        places = places[np.linspace(0, rounds - 1, _MOST_PLACES).astype(int)]
    first, second = np.triu_indices(len(places), 1)
    steps = np.maximum(1.0, (places[second] - places[first]) / usual)
    correlations = np.array((0.0, *_CORRELATIONS))
    # r = 2^(2H - 1) - 1, hence 2H - 2 = log2(1 + r) - 1.
    decays = np.log2(1.0 + correlations)[:, None] - 1.0
    neighbours = correlations * (gaps**decays).mean(axis=1)
    pairs = correlations * (steps**decays).mean(axis=1)
    return (neighbours - pairs) / (1.0 - pairs), (1.0 + (rounds - 1) * pairs) / (1.0 - pairs)


def _variance(logs: np.ndarray, squares: float) -> float:
    """Of the correlation of neighbours over all orders of these numbers, whose mean is 0.

    With S2 = sum x^2 and S4 = sum x^4, the moments of products of pairs that share no, one or both
    numbers follow from sums over distinct indices.
    """
    n = len(logs)
    fourth = float(np.square(logs) @ np.square(logs)) / squares**2
    same_pairs = (1.0 - fourth) / (n * (n - 1))
    overlapping_pairs = (2.0 * fourth - 1.0) / (n * (n - 1) * (n - 2))
    disjoint_pairs = (3.0 - 6.0 * fourth) / (n * (n - 1) * (n - 2) * (n - 3))
    pairs = n - 1
    second = (
        pairs * same_pairs
        + 2 * (pairs - 1) * overlapping_pairs
        + (pairs - 1) * (pairs - 2) * disjoint_pairs
    )
    return max(second - 1.0 / n**2, 1e-6)
