"""Correlation between the rounds of a case, and how much wider it makes an interval.

A machine whose speed wanders over minutes gives neighbouring rounds similar levels. They then
spread less than independent rounds would, and their mean is less sure than their spread says. Pure
functions of the rounds' own figures and of the times at which the rounds began.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_ROUNDS = 5
"""Fewer rounds estimate no correlation."""
CLOSE_S = 60.0
"""Rounds that all began within so many seconds may share one state of the machine."""
_PRIOR = 0.3
"""The standard deviation of correlations at lag 1 that machines have, by which an estimate is
shrunk: eight rounds alone estimate one to within 0.28."""
_SIGNIFICANT = 2.05
"""Standard errors that independent rounds exceed in 1 to 3 of 100 cases."""
_MOST = 0.9
"""Beyond this the model has no use: the rounds are hardly more than one."""


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

    @property
    def is_close(self) -> bool:
        """Whether all rounds began within a minute."""
        return self.span_s is not None and self.span_s < CLOSE_S


def round_correlation(
    figures: Sequence[float] | np.ndarray, starts_s: Sequence[float] = ()
) -> RoundCorrelation:
    """Of the rounds' own positive figures, and the times at which they began, empty if not known.

    The correlation of neighbours in time is r + 1/n, since independent rounds have -1/n in the
    mean (M. G. Kendall, Biometrika 41, 1954), with the variance that all orders of these figures
    give. What is positive of it is shrunk towards 0 by the prior. Machines have long memory: the
    correlation r of neighbours decays with the distance k, in median gaps between rounds, as
    r k^(2H - 2), with H that of fractional Gaussian noise of this r. With the mean correlation c of
    all pairs the variance of the mean is 1 + (n - 1) c times that of independent rounds, and that
    of the rounds themselves is 1 - c times as large.
    """
    values = np.asarray(figures, float)
    rounds, times = len(values), np.asarray(starts_s, float)
    span = float(times.max() - times.min()) if rounds and len(times) == rounds else None
    if rounds < LEAST_ROUNDS or values.min() <= 0.0:
        return RoundCorrelation(rounds, span_s=span)
    order = np.argsort(times, kind="stable") if span is not None else np.arange(rounds)
    own = np.log(values[order])
    own -= own.mean()
    squares = float(own @ own)
    if squares <= 1e-24 * rounds:
        return RoundCorrelation(rounds, span_s=span)
    lag1 = float(own[1:] @ own[:-1]) / squares + 1.0 / rounds
    variance = _variance(own, squares)
    shrunk = min(_MOST, max(0.0, lag1) * _PRIOR**2 / (_PRIOR**2 + variance))
    return RoundCorrelation(
        rounds,
        lag1,
        _inflation(shrunk, _steps(times[order] if span else None, rounds)),
        lag1 > _SIGNIFICANT * math.sqrt(variance),
        span,
    )


def _variance(own: np.ndarray, squares: float) -> float:
    """Of the correlation of neighbours over all orders of these numbers, whose mean is 0.

    With S2 = sum x^2 and S4 = sum x^4, the moments of products of pairs that share no, one or both
    numbers follow from sums over distinct indices.
    """
    n = len(own)
    fourth = float(np.square(own) @ np.square(own)) / squares**2
    both = (1.0 - fourth) / (n * (n - 1))
    shared = (2.0 * fourth - 1.0) / (n * (n - 1) * (n - 2))
    none = (3.0 - 6.0 * fourth) / (n * (n - 1) * (n - 2) * (n - 3))
    pairs = n - 1
    second = pairs * both + 2 * (pairs - 1) * shared + (pairs - 1) * (pairs - 2) * none
    return max(second - 1.0 / n**2, 1e-6)


def _steps(times: np.ndarray | None, rounds: int) -> np.ndarray:
    """How many typical distances lie between any two rounds [n, n]."""
    places = np.arange(rounds, dtype=float) if times is None else times
    gaps = np.diff(places)
    usual = float(np.median(gaps))
    if usual <= 0.0:
        places, usual = np.arange(rounds, dtype=float), 1.0
    return np.abs(places[:, None] - places[None, :]) / usual


def _inflation(correlation: float, steps: np.ndarray) -> float:
    if correlation <= 0.0:
        return 1.0
    n = len(steps)
    # r = 2^(2H - 1) - 1, hence 2H - 2 = log2(1 + r) - 1.
    decay = math.log2(1.0 + correlation) - 1.0
    apart = np.maximum(1.0, steps) ** decay
    mean = correlation * (float(apart.sum()) - n) / (n * (n - 1))
    return math.sqrt((1.0 + (n - 1) * mean) / (1.0 - mean))
