"""The mean of a typical process with its interval.

As for a quantile, both kinds of chance count: which processes there were, by the spread of the
rounds' own means, and which runs there were, by the spread of the means of blocks within rounds.
"""

from __future__ import annotations

import math

import numpy as np

from app.stats.between import (
    LEAST_ROUNDS,
    deviation,
    interval_between,
    reaches,
    skewness_of,
    typical,
)
from app.stats.quantiles import CONFIDENCE, Interval, mean
from app.stats.typical import Estimate, Rounds, correlation_of

_BLOCKS = 10
"""Of a round: each long enough to hold most spells of slow runs."""


def typical_mean(rounds: Rounds, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of a typical process; its interval holds that over the rounds and that over runs."""
    own = np.array([mean(ascending) for ascending in rounds.ascending])
    correlation = correlation_of(own, rounds, is_load_sensitive=True)
    value, by_round = typical(own), tuple(own.tolist())
    if len(own) < LEAST_ROUNDS:
        why = f"{len(own)} of {LEAST_ROUNDS} rounds"
        return Estimate(value, None, why, by_round, correlation=correlation)
    interval = interval_between(own, confidence, correlation.inflation)
    if interval is None:
        return Estimate(value, None, "a latency of 0", by_round, correlation=correlation)
    within = _interval_within(rounds, own, value, confidence)
    if within is not None:
        interval = Interval(min(interval.low, within.low), max(interval.high, within.high))
    return Estimate(value, interval, "", by_round, correlation=correlation)


def _interval_within(
    rounds: Rounds, own: np.ndarray, value: float, confidence: float
) -> Interval | None:
    """Of the mean, by the means of consecutive blocks of each round over the round's own mean.

    Blocks of dependent runs vary as much as the dependence makes them, as long as they hold most
    spells. All rounds' blocks together, since one round has few. None where a round has fewer runs
    than blocks.
    """
    parts = []
    for latencies, level in zip(rounds.in_time, own.tolist(), strict=True):
        length = len(latencies) // _BLOCKS
        if not length:
            return None
        blocks = latencies[: length * _BLOCKS].reshape(_BLOCKS, length).mean(axis=1) / level
        parts.append(blocks - blocks.mean())
    apart = np.concatenate(parts)
    # Each round's own mean was taken out of its blocks.
    spread = deviation(apart) * math.sqrt((len(apart) - 1) / (len(apart) - len(parts)))
    if not spread:
        return None
    below, above = reaches(len(apart), skewness_of(apart), confidence)
    error = spread / math.sqrt(len(apart))
    return Interval(value * math.exp(-below * error), value * math.exp(above * error))
