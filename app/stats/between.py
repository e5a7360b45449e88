"""What several processes agree on: the geometric mean of their own figures, and its interval.

A round is a process, and processes differ more than iterations do, however many of these
there are. So the figure that is quoted is a typical process's, each round weighs alike, and
the interval comes from how the rounds' own figures spread.
"""

from __future__ import annotations

import math

import numpy as np

from app.stats.distributions import t_quantile
from app.stats.quantiles import CONFIDENCE, Interval, mean

LEAST_ROUNDS = 3
"""With two rounds Student's t has one degree of freedom and reaches 12.7 standard errors."""


def typical(per_round: np.ndarray) -> float:
    """The geometric mean: the exponential of the mean logarithm."""
    return math.exp(mean(np.log(per_round)))


def interval_between(per_round: np.ndarray, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of `typical` from n processes' own figures, on their logarithms.

    Latencies are positive and their spread is proportional, hence the logarithm. Student's t
    gives m +- t s / sqrt(n), with n - 1 degrees of freedom. Processes are unlucky more often than
    lucky, so their logarithms are skewed, and t falls short on the long side; the interval is
    widened to hold Hall's too, whose transformation removes the skewness (P. Hall, J. R. Statist.
    Soc. B 54, 1992, section 2). None with fewer than three rounds.
    """
    rounds = len(per_round)
    if rounds < LEAST_ROUNDS or per_round.min() <= 0.0:
        return None
    logarithms = np.log(per_round)
    middle = mean(logarithms)
    error = deviation(logarithms) / math.sqrt(rounds)
    if error == 0.0:
        return Interval(float(per_round[0]), float(per_round[0]))
    below, above = reaches(rounds, skewness_of(logarithms), confidence)
    return Interval(math.exp(middle - below * error), math.exp(middle + above * error))


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


def _without_skewness(reach: float, skewness: float) -> float:
    """The standard errors that Hall's cubic transformation takes to `reach`.

    The inverse of T + a T^2 / 3 + a^2 T^3 / 27 + a / 6, with a the skewness over sqrt(n).
    """
    if abs(skewness) < 1e-6:
        return reach
    inner = 1.0 + skewness * (reach - skewness / 6.0)
    return 3.0 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1.0)
