"""The percentile that MLPerf Inference would report of these samples: its early stopping.

For those who compare with submissions. It counts samples as if each were independent of all
others, which those of one process are not: `bound.py` has the bound to trust.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from app.stats.distributions import binomial_share

CONFIDENCE = 0.99
"""The rules' c; their tolerance d is 0."""


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """`estimate` is in the unit of the samples, None where they are fewer than `needed`."""

    estimate: float | None
    samples: int
    needed: int

    @property
    def valid(self) -> bool:
        """Whether the rules call so many samples enough."""
        return self.samples >= self.needed

    @property
    def reason(self) -> str:
        """Why it is not valid; empty where it is."""
        return "" if self.valid else f"{self.samples} of {self.needed} samples"


def early_stopping(ascending: np.ndarray, quantile: float) -> EarlyStopping:
    """The early-stopping estimate of a quantile from sorted samples [n].

    Let t be the most samples of n that may lie above the quantile of a system that just fails,
    P(B <= t) <= 1 - c for B ~ Binomial(n, 1 - quantile). Where t is at least one, the t - 1 largest
    samples are left out and the largest of the others is told (MLPerf Inference Rules, appendix
    "Early Stopping Criterion", the single-stream and multi-stream scenarios).
    """
    count = len(ascending)
    needed = needed_for(1, quantile)
    if count < needed:
        return EarlyStopping(None, count, needed)
    return EarlyStopping(float(ascending[count - most_above(count, quantile)]), count, needed)


@lru_cache(maxsize=4096)
def most_above(count: int, quantile: float) -> int:
    """The rules' t: how many of so many samples may lie above the quantile; -1 for not even none.

    P(B <= t) grows with t, so t is found by halving.
    """
    low, high = -1, count
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_share(middle, count, 1.0 - quantile) <= 1.0 - CONFIDENCE:
            low = middle
        else:
            high = middle
    return low


@cache
def needed_for(above: int, quantile: float) -> int:
    """The fewest samples of which so many may lie above: for p99 459, 662 for none, one."""
    low, high = above, above + 1
    while most_above(high, quantile) < above:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if most_above(middle, quantile) < above:
            low = middle
        else:
            high = middle
    return high
