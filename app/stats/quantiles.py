"""Quantiles of samples: order statistics with exact intervals, the clock's tick, a live histogram.

Pure functions of sorted samples. No distribution is assumed: the number of samples below a
quantile is binomial whatever the latency's distribution (David & Nagaraja, Order Statistics,
2003, section 7.1).

The live views and the running percentiles of a round use the histogram: adding 5,000 samples takes
tens of microseconds and no sample has to be kept. Its values are good to half a bin (1.2 %) and are
shown as provisional; finished rounds are summarised from raw samples.
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
    ranks = np.arange(count + 1) if count < 64 else _window(count, quantile)
    cumulative = _cumulative(ranks, count, quantile)
    low = int(ranks[np.searchsorted(cumulative, tail, side="right")])
    high = int(ranks[np.searchsorted(cumulative, 1.0 - tail, side="left")]) + 1
    return (low, high) if low >= 1 and high <= count else None


def _window(count: int, quantile: float) -> np.ndarray:
    """The counts within ten standard deviations of the mean: all that the tails can need."""
    mean = count * quantile
    reach = 10.0 * math.sqrt(count * quantile * (1.0 - quantile)) + 10.0
    window: np.ndarray = np.arange(max(0, int(mean - reach)), min(count, int(mean + reach)) + 1)
    return window


def _cumulative(ranks: np.ndarray, count: int, quantile: float) -> np.ndarray:
    """P(B <= k) for each k of `ranks`, which holds all but a negligible part of B's mass.

    From the ratio of neighbours, P(k + 1) / P(k) = (n - k) q / ((k + 1) (1 - q)): exact enough,
    and of all samples of a run quick.
    """
    k = ranks[:-1].astype(float)
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


_REPEATED_SHARE = 0.5
"""The share of samples that have an equal, from which on the clock limits what is known."""
_OFF = 0.1
"""The share of a divisor by which a multiple of it may be off: latencies are rounded."""
_FEW = 0.1
"""A tick below this share of a latency needs not to divide it."""


def clock_tick(ascending: np.ndarray) -> float:
    """The largest step of which latencies that occur repeatedly are multiples, in their unit.

    0 where most latencies occur once: the clock is finer than the noise. Where all are equal the
    tick may be as large as the latency itself.
    """
    if len(ascending) < 2:
        return 0.0
    is_larger = ascending[1:] > ascending[:-1]
    equal_pairs = len(is_larger) - int(np.count_nonzero(is_larger))
    if 2 * equal_pairs < _REPEATED_SHARE * len(ascending):  # a pair is of two samples at most
        return 0.0
    starts = np.append(0, is_larger.nonzero()[0] + 1)
    counts = np.append(starts[1:], len(ascending)) - starts
    is_repeated = counts > 1
    if counts[is_repeated].sum() < _REPEATED_SHARE * len(ascending):
        return 0.0
    values = ascending[starts[is_repeated]]
    tick = 0.0
    for step in np.unique(np.diff(values)).tolist():
        tick = _common_divisor(tick, step)
    fastest = float(values[0])
    # Of a latency of many ticks, the rounding of each adds up to more than a tick.
    return tick if 0.0 < tick < _FEW * fastest else _common_divisor(fastest, tick)


def _common_divisor(larger: float, smaller: float) -> float:
    """Euclid's, of measured numbers: what is left over may be off by a part of the divisor."""
    larger, smaller = max(larger, smaller), min(larger, smaller)
    while smaller > 0.0:
        remainder = larger % smaller
        if min(remainder, smaller - remainder) <= _OFF * smaller:
            return smaller
        larger, smaller = smaller, remainder
    return larger


def ratio_resolution(first: float, first_tick: float, second: float, second_tick: float) -> float:
    """How far the logarithm of second over first may be off because of the clocks' ticks.

    Readings of equal durations on one clock differ by one tick at most, on two clocks by one tick
    of each.
    """
    shares = first_tick / first, second_tick / second
    one_clock = math.isclose(first_tick, second_tick, rel_tol=1e-6)
    return max(shares) if one_clock else sum(shares)


BINS_PER_DECADE = 100
LOWEST_S, DECADES = 1e-7, 9
BINS = BINS_PER_DECADE * DECADES

EDGES_S: np.ndarray = LOWEST_S * 10.0 ** (np.arange(BINS + 1) / BINS_PER_DECADE)
"""The bin edges in seconds [BINS + 1], from 100 ns to 100 s."""


class Histogram:
    """Counts [BINS] of latencies; those outside the grid fall into its first or last bin."""

    def __init__(self) -> None:
        self.counts = np.zeros(BINS, dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def add(self, latency_ns: np.ndarray) -> None:
        """Add integer nanoseconds [n]."""
        if len(latency_ns) == 0:
            return
        seconds = np.maximum(latency_ns, 1) * 1e-9
        bins = np.floor(np.log10(seconds / LOWEST_S) * BINS_PER_DECADE).astype(np.int64)
        self.counts += np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS)

    def quantile_s(self, quantile: float) -> float | None:
        """The geometric middle of the bin that holds the quantile; None while empty."""
        total = self.total
        if total == 0:
            return None
        rank = max(1, int(np.ceil(quantile * total)))
        bin_index = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(np.sqrt(EDGES_S[bin_index] * EDGES_S[bin_index + 1]))
