"""Percentiles as order statistics, and the exact intervals that their ranks give.

Pure functions of sorted samples. No distribution is assumed: the number of samples below a
quantile is binomial whatever the latency's distribution (David & Nagaraja, Order
Statistics, 2003, section 7.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval, in the unit of what it bounds."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


@lru_cache(maxsize=256)
def needed_samples(quantile: float, confidence: float = CONFIDENCE) -> int:
    """The fewest samples for which `rank_interval` exists: 6 for the median, 368 for p99."""
    extreme = max(quantile, 1.0 - quantile)
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(extreme))


@lru_cache(maxsize=4096)
def rank_interval(
    count: int, quantile: float, confidence: float = CONFIDENCE
) -> tuple[int, int] | None:
    """1-based ranks (low, high) whose order statistics enclose the quantile, or None.

    Each tail keeps at most (1 - confidence) / 2: with B ~ Binomial(count, quantile),
    P(B < low) and P(B >= high) are both bounded by it.
    """
    if count < needed_samples(quantile, confidence):
        return None
    tail = (1.0 - confidence) / 2.0
    below = np.arange(count + 1) if count < 64 else _window(count, quantile)
    cumulative = _cumulative(below, count, quantile)
    low = int(below[np.searchsorted(cumulative, tail, side="right")])
    high = int(below[np.searchsorted(cumulative, 1.0 - tail, side="left")]) + 1
    return (low, high) if low >= 1 and high <= count else None


def _window(count: int, quantile: float) -> np.ndarray:
    """The counts within ten standard deviations of the mean: all that the tails can need."""
    mean = count * quantile
    reach = 10.0 * math.sqrt(count * quantile * (1.0 - quantile)) + 10.0
    window: np.ndarray = np.arange(max(0, int(mean - reach)), min(count, int(mean + reach)) + 1)
    return window


def _cumulative(below: np.ndarray, count: int, quantile: float) -> np.ndarray:
    """P(B <= k) for each k of `below`, which holds all but a negligible part of B's mass.

    From the ratio of neighbours, P(k + 1) / P(k) = (n - k) q / ((k + 1) (1 - q)): exact enough,
    and of all samples of a run quick.
    """
    k = below[:-1].astype(float)
    ratios = np.log((count - k) * quantile / ((k + 1.0) * (1.0 - quantile)))
    logarithms = np.concatenate([[0.0], np.cumsum(ratios)])
    mass = np.exp(logarithms - logarithms.max())
    cumulative: np.ndarray = np.cumsum(mass / mass.sum())
    return cumulative


def mean(values: np.ndarray) -> float:
    """As `np.mean`, without what that looks at first: a row has dozens of a few numbers."""
    return float(np.add.reduce(values)) / len(values)


def order_statistic(ascending: np.ndarray, quantile: float) -> float:
    """The sample of rank ceil(quantile * n): a value that really occurred."""
    rank = max(1, math.ceil(quantile * len(ascending) - 1e-9))
    return float(ascending[rank - 1])


def supported_quantile(ascending: np.ndarray, quantile: float) -> float | None:
    """The order statistic, or None where too few samples bound it on both sides."""
    if len(ascending) < needed_samples(quantile):
        return None
    return order_statistic(ascending, quantile)
