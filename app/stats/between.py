"""The figure of a typical process from those of several rounds, and its interval.

A round is a process, and processes differ more than iterations do, however many of these
there are. So the figure that is quoted is a typical process's, each round weighs alike, and
the interval comes from how the rounds' own figures spread.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from app.stats.distributions import chi_square_quantile, t_quantile
from app.stats.quantiles import CONFIDENCE, Interval, mean

LEAST_ROUNDS = 3
"""With two rounds Student's t has one degree of freedom and reaches 12.7 standard errors."""

_SPREAD_SHARE = 0.6


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
    logarithms = np.log(per_round)
    first, second = _pairs(len(logarithms))
    ascending = np.sort(0.5 * (logarithms[first] + logarithms[second]))
    below, above = ascending[(len(ascending) - 1) // 2], ascending[len(ascending) // 2]
    return math.exp(float(below + above) / 2.0)


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

    Latencies are positive and their spread is proportional, hence the logarithm. Student's t
    gives m +- t s / sqrt(n), with n - 1 degrees of freedom. Processes are unlucky more often than
    lucky, so their logarithms are skewed, and t falls short on the long side; the interval is
    widened to hold Hall's too, whose transformation removes the skewness (P. Hall, J. R. Statist.
    Soc. B 54, 1992, section 2). It is centred on the mean m, and s counts the rounds that are far
    off: it holds the pseudo-median and, where the rounds show all modes, the geometric mean too.

    `inflation` multiplies the standard error, for rounds that correlate (`round_correlation`).
    None with fewer than three rounds.
    """
    rounds = len(per_round)
    if rounds < LEAST_ROUNDS or per_round.min() <= 0.0:
        return None
    logarithms = np.log(per_round)
    middle = mean(logarithms)
    error = inflation * deviation(logarithms) / math.sqrt(rounds)
    if error == 0.0:
        return Interval(float(per_round[0]), float(per_round[0]))
    below, above = reaches(rounds, skewness_of(logarithms), confidence)
    quoted = typical(per_round)
    low, high = math.exp(middle - below * error), math.exp(middle + above * error)
    return Interval(min(low, quoted), max(high, quoted))


def reaches(rounds: int, skewness: float, confidence: float) -> tuple[float, float]:
    """How many standard errors the interval of so many rounds' mean reaches below and above it."""
    reach = t_quantile(rounds - 1, 0.5 + confidence / 2.0)
    below = max(reach, _without_skewness(reach, skewness / math.sqrt(rounds)))
    above = max(reach, -_without_skewness(-reach, skewness / math.sqrt(rounds)))
    return below, above


def skewness_of(logarithms: np.ndarray) -> float:
    """The third standardised moment of numbers that are not all alike."""
    apart = logarithms - mean(logarithms)
    squared = apart * apart
    return mean(apart * squared) / mean(squared) ** 1.5


def deviation(values: np.ndarray) -> float:
    """The standard deviation with n - 1 degrees of freedom."""
    apart = values - mean(values)
    return math.sqrt(float(np.add.reduce(apart * apart)) / (len(values) - 1))


def spread_limit(spread: float, freedom: float) -> float:
    """What a standard deviation is at most, with 60 % where rounds are normal.

    Half of the samples have a deviation below the median of its distribution, which lies below the
    true one; 60 % leaves room for skewed and moderately heavy-tailed rounds. With it the smallest
    change of eight rounds or more is foretold to within 15 % (`tests.benchmarks power`).
    """
    return spread / math.sqrt(chi_square_quantile(freedom, 1.0 - _SPREAD_SHARE) / freedom)


def _without_skewness(reach: float, skewness: float) -> float:
    """The standard errors that Hall's cubic transformation takes to `reach`.

    The inverse of T + a T^2 / 3 + a^2 T^3 / 27 + a / 6, with a the skewness over sqrt(n).
    """
    if abs(skewness) < 1e-6:
        return reach
    inner = 1.0 + skewness * (reach - skewness / 6.0)
    return 3.0 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1.0)
