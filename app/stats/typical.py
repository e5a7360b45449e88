"""A quantile of a typical process with its interval, or the reason why it can't be claimed.

What is quoted is the geometric mean of the rounds' own order statistics. Its interval is the
t interval over the rounds, widened to hold the exact rank interval of all samples together,
these counted as many as are independent: where processes are alike, iterations are what is
uncertain; where they differ, processes are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.stats.between import LEAST_ROUNDS, interval_between, typical
from app.stats.clock_tick import clock_tick
from app.stats.dependence import independent_runs
from app.stats.quantiles import (
    CONFIDENCE,
    Interval,
    mean,
    needed_samples,
    order_statistic,
    rank_interval,
)

METHOD = "t_ranks"
TAIL = 0.8
"""From here on, and likewise below 0.2, a quantile's samples are counted by clusters. Further in,
dependence moves the rounds' own quantiles apart, and the interval over rounds sees it."""
BEYOND = 20
"""Independent samples beyond a tail quantile that a round needs for an interval, in the mean: with
fewer, a round's own quantile is biased and its logarithm skewed, which t can't mend."""
FEW_ROUNDS = 8
"""Below this an interval is marked: a mode that three in ten processes are in goes unseen by
six rounds in 0.7^6 = 12 % of the runs, by eight in 6 %."""
FEW_RUNS = 1000
"""Rounds with fewer runs mark an interval too: spells that come once in some thousand runs
move a tail, and are in none of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """In the unit of the samples; `absent` says why the value or the interval is None.

    `by_round` are the rounds' own figures in their order, empty where there is no value.
    `too_short`: what is absent takes longer rounds, and more of them would not help.
    `tick` is that of the clock; the interval reaches by so much farther to either side.
    """

    value: float | None
    interval: Interval | None
    absent: str = ""
    by_round: tuple[float, ...] = ()
    too_short: bool = False
    tick: float = 0.0


@dataclass(frozen=True, slots=True)
class Rounds:
    """Samples of several rounds: each round's in order of time and ascending, all ascending.

    `tick` is that of the clock that timed them, 0 where it limits nothing.
    """

    in_time: tuple[np.ndarray, ...]
    ascending: tuple[np.ndarray, ...]
    pooled: np.ndarray
    tick: float = 0.0
    _independent: dict[float, tuple[int, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of(in_time: Sequence[np.ndarray], is_simulated: bool = False) -> Rounds:
        """Of one array for each round that has samples; a simulated clock has no tick."""
        ascending = tuple(np.sort(latencies) for latencies in in_time)
        pooled = np.sort(np.concatenate(ascending))
        tick = 0.0 if is_simulated else clock_tick(pooled)
        return Rounds(tuple(in_time), ascending, pooled, tick)

    def independent(self, quantile: float) -> tuple[int, ...]:
        """How many independent runs each round is worth beyond its own quantile.

        For quantiles that are no tail, as many as it has.
        """
        if quantile not in self._independent:
            self._independent[quantile] = tuple(self._counted(quantile))
        return self._independent[quantile]

    def _counted(self, quantile: float) -> Iterator[int]:
        if not is_tail(quantile):
            return map(len, self.ascending)
        beyond = []
        for latencies, ascending in zip(self.in_time, self.ascending, strict=True):
            own = order_statistic(ascending, quantile)
            # The fastest runs come in clusters as the slowest do.
            beyond.append(latencies > own if quantile > TAIL else latencies < own)
        return map(int, independent_runs(beyond))


def is_tail(quantile: float) -> bool:
    """Whether so few runs lie on one side of it that how they cluster counts."""
    return max(quantile, 1.0 - quantile) > TAIL


def typical_quantile(rounds: Rounds, quantile: float, confidence: float = CONFIDENCE) -> Estimate:
    """The quantile of a typical process, and its interval."""
    independent, needed = rounds.independent(quantile), needed_samples(quantile)
    if sum(independent) < needed:
        return Estimate(None, None, f"{sum(independent)} of {needed} independent runs")
    shortest, outside = min(map(len, rounds.ascending)), min(quantile, 1.0 - quantile)
    if shortest * outside < 1.0:
        why = f"a round has {shortest} runs, too few to lie beyond it"
        return Estimate(None, None, why, too_short=True)
    own = np.array(round_quantiles(rounds, quantile))
    value, by_round = typical(own), tuple(own.tolist())
    if len(own) < LEAST_ROUNDS:
        why = f"{len(own)} of {LEAST_ROUNDS} rounds"
        return Estimate(value, None, why, by_round, tick=rounds.tick)
    beyond = int(sum(independent) / len(own) * outside)
    if is_tail(quantile) and beyond < BEYOND:
        why = f"a round has {beyond} of {BEYOND} independent runs beyond it"
        return Estimate(value, None, why, by_round, too_short=True, tick=rounds.tick)
    between = interval_between(own, confidence)
    within = interval_of_ranks(rounds.pooled, sum(independent), quantile, confidence)
    if within is None:
        least = needed_samples(quantile, confidence)
        why = f"{sum(independent)} of {least} independent runs for an interval"
        return Estimate(value, None, why, by_round, tick=rounds.tick)
    if between is None:
        return Estimate(value, None, "a latency of 0", by_round)
    low = max(0.0, min(between.low, within.low) - rounds.tick)
    high = max(between.high, within.high) + rounds.tick
    return Estimate(value, Interval(low, high), "", by_round, tick=rounds.tick)


def typical_mean(rounds: Rounds, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of a typical process, and its interval over the rounds."""
    own = np.array([mean(ascending) for ascending in rounds.ascending])
    by_round = tuple(own.tolist())
    if len(own) < LEAST_ROUNDS:
        return Estimate(typical(own), None, f"{len(own)} of {LEAST_ROUNDS} rounds", by_round)
    return Estimate(typical(own), interval_between(own, confidence), "", by_round)


def marks_of(rounds: Rounds) -> tuple[str, ...]:
    """What is to be known of every interval over these rounds: `few_rounds`, `few_runs`."""
    few_rounds = len(rounds.ascending) < FEW_ROUNDS
    few_runs = min(map(len, rounds.ascending)) < FEW_RUNS
    return ("few_rounds",) * few_rounds + ("few_runs",) * few_runs


def round_quantiles(rounds: Rounds, quantile: float) -> list[float]:
    """Each round's own quantile, in their order."""
    return [order_statistic(ascending, quantile) for ascending in rounds.ascending]


def interval_of_ranks(
    pooled: np.ndarray, independent: int, quantile: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """The exact rank interval of so many independent samples, at the same shares of all."""
    ranks = rank_interval(independent, quantile, confidence)
    if ranks is None:
        return None
    low, high = (math.ceil(rank * len(pooled) / independent) for rank in ranks)
    return Interval(float(pooled[low - 1]), float(pooled[min(high, len(pooled)) - 1]))
