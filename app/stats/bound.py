"""What a high percentile of a typical process is at most, with 99 %: one-sided, over rounds.

A promise asks for one side only: not where the p99 lies, but what it does not exceed. Told is
the larger of two bounds, because either kind of chance may decide: which processes there
were, and which runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.between import interval_between
from app.stats.quantiles import needed_samples
from app.stats.typical import (
    BEYOND,
    Rounds,
    correlation_of,
    interval_of_ranks,
    round_quantiles,
)

LEVEL = 0.99
LEAST_ROUNDS = 5
"""Of four processes Student's t reaches 4.5 standard errors at 99 %, and hides what it bounds."""
_TWO_SIDED = 2.0 * LEVEL - 1.0
"""The two-sided level whose upper end leaves 1 % above."""


@dataclass(frozen=True, slots=True)
class Bound:
    """In the unit of the samples; `absent` says why there is none."""

    value: float | None
    absent: str = ""


def upper_bound(rounds: Rounds, quantile: float) -> Bound:
    """What a quantile above 0.8 of a typical process is at most, with a confidence of 99 %.

    The larger of exp(m + t(R - 1, 0.99) s / sqrt(R)), with m and s of the logarithms of the R
    rounds' own quantiles and Hall's allowance for their skewness (`interval_between`), and of the
    order statistic that the binomial distribution of as many samples as are independent puts
    above the quantile with 99 %. None where a round has fewer than 20 clusters of runs beyond it.
    """
    count = len(rounds.ascending)
    if count < LEAST_ROUNDS:
        return Bound(None, f"{count} of {LEAST_ROUNDS} rounds")
    beyond, independent = int(rounds.clusters(quantile)), sum(rounds.independent(quantile))
    if beyond < BEYOND:
        return Bound(None, f"a round has {beyond} of {BEYOND} independent runs beyond it")
    within = interval_of_ranks(rounds.pooled, independent, quantile, _TWO_SIDED)
    if within is None:
        least = needed_samples(quantile, _TWO_SIDED)
        return Bound(None, f"{independent} of {least} independent runs")
    own = np.array(round_quantiles(rounds, quantile))
    inflation = correlation_of(own, rounds, is_load_sensitive=True).inflation
    between = interval_between(own, _TWO_SIDED, inflation)
    if between is None:
        return Bound(None, "a latency of 0")
    return Bound(max(between.high, within.high))
