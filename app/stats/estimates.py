"""Estimates of a typical process with intervals: quantiles, the mean, bounds of percentiles.

What is quoted is the pseudo-median of the rounds' own order statistics (`intervals.typical`). Its
interval is that over the rounds, widened to hold the exact rank interval of all samples together,
these counted as many as are independent: where processes are alike, iterations are what is
uncertain; where they differ, processes are. Whether the value is shown depends on the number of
runs; whether an interval is claimed, on how many independent ones they are worth.

For the mean, as for a quantile, both kinds of chance count: which processes there were, by the
spread of the rounds' own means, and which runs there were, by the spread of the means of blocks
within rounds.

A bound asks for one side only: not where the p99 lies, but what it does not exceed. It is the
larger of two bounds, because either kind of chance may decide: which processes there were, and
which runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.stats.intervals import MINIMUM_ROUNDS as INTERVALS_LEAST_ROUNDS
from app.stats.intervals import (
    MOSTLY_DEPENDENT,
    RARELY_DEPENDENT,
    RoundCorrelation,
    deviation,
    interval_between,
    reaches,
    round_correlation,
    skewness_of,
    student_interval,
    t_quantile,
    typical,
)
from app.stats.quantiles import (
    CONFIDENCE,
    Interval,
    clock_tick,
    mean,
    needed_samples,
    order_statistic,
    rank_interval,
)
from app.stats.tails import extremal_index, independent_runs

METHOD = "t_ranks"
TAIL = 0.8
"""From here on, and likewise below 0.2, a quantile's samples are counted by clusters. Further in,
dependence moves the rounds' own quantiles apart, and the interval over rounds sees it."""
BEYOND = 20
"""Independent clusters of samples beyond a tail quantile that a round needs for an interval, in the
mean: with fewer, a round's own quantile is biased and its logarithm skewed, which t can't mend."""
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
    `correlation` is that of the rounds' own figures, None where there are none.
    """

    value: float | None
    interval: Interval | None
    absent: str = ""
    by_round: tuple[float, ...] = ()
    too_short: bool = False
    tick: float = 0.0
    correlation: RoundCorrelation | None = None

    @property
    def slowest_round(self) -> float | None:
        """The largest of the rounds' own figures."""
        return max(self.by_round, default=None)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Samples of several rounds: each round's in order of time and ascending, all ascending.

    `tick` is that of the clock that timed them, 0 where it limits nothing. `starts_s` are the times
    at which the rounds began, empty where one is not known. `is_contended`: other work took the
    core from them.
    """

    in_time: tuple[np.ndarray, ...]
    ascending: tuple[np.ndarray, ...]
    pooled: np.ndarray
    tick: float = 0.0
    starts_s: tuple[float, ...] = ()
    is_contended: bool = False
    _beyond: dict[float, tuple[list[np.ndarray], list[float]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _independent: dict[float, tuple[int, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of(
        in_time: Sequence[np.ndarray],
        is_simulated: bool = False,
        starts_s: Sequence[float] = (),
        is_contended: bool = False,
    ) -> Rounds:
        """Of one array for each round that has samples; a simulated clock has no tick."""
        ascending = tuple(np.sort(latencies) for latencies in in_time)
        pooled_values = np.sort(np.concatenate(ascending))
        tick = 0.0 if is_simulated else clock_tick(pooled_values)
        return Rounds(tuple(in_time), ascending, pooled_values, tick, tuple(starts_s), is_contended)

    def independent(self, quantile: float) -> tuple[int, ...]:
        """How many independent runs each round is worth beyond its own quantile.

        For quantiles that are no tail, as many as it has.
        """
        if not is_tail(quantile):
            return tuple(map(len, self.ascending))
        if quantile not in self._independent:
            counts = independent_runs(*self._runs_beyond(quantile))
            self._independent[quantile] = tuple(map(int, counts))
        return self._independent[quantile]

    def clusters(self, quantile: float) -> float:
        """How many clusters of runs a round has beyond its own quantile, in the mean."""
        return mean(self._cluster_counts(quantile))

    def least_clusters(self, quantile: float, confidence: float) -> float:
        """The same of processes in general, as these rounds show it: the lower end of an interval.

        Rounds with few long spells of slow runs have many clusters and a low tail, so what is only
        claimed of rounds that happen to have enough clusters is claimed of the lucky ones.
        """
        counts = self._cluster_counts(quantile)
        reach = t_quantile(len(counts) - 1, confidence) / math.sqrt(len(counts))
        return mean(counts) - reach * deviation(counts)

    def _cluster_counts(self, quantile: float) -> np.ndarray:
        counts = min(quantile, 1.0 - quantile) * np.array([len(part) for part in self.ascending])
        return counts * np.array(self._runs_beyond(quantile)[1]) if is_tail(quantile) else counts

    def _runs_beyond(self, quantile: float) -> tuple[list[np.ndarray], list[float]]:
        """Which runs of each round lie beyond its own quantile, and the rounds' extremal indices.

        The fastest runs come in clusters as the slowest do.
        """
        if quantile not in self._beyond:
            levels = round_quantiles(self, quantile)
            pairs = zip(self.in_time, levels, strict=True)
            masks = [part > level if quantile > TAIL else part < level for part, level in pairs]
            self._beyond[quantile] = masks, [extremal_index(mask) for mask in masks]
        return self._beyond[quantile]


def correlation_of(
    round_values: np.ndarray, rounds: Rounds, is_load_sensitive: bool
) -> RoundCorrelation:
    """Of the rounds' own figures. `is_load_sensitive`: it follows how much of the core other work
    takes, as the mean and the upper percentiles do."""
    is_likely = rounds.is_contended and is_load_sensitive
    prior = MOSTLY_DEPENDENT if is_likely else RARELY_DEPENDENT
    return round_correlation(round_values, rounds.starts_s, prior)


def is_tail(quantile: float) -> bool:
    """Whether so few runs lie on one side of it that how they cluster counts."""
    return max(quantile, 1.0 - quantile) > TAIL


def typical_quantile(rounds: Rounds, quantile: float, confidence: float = CONFIDENCE) -> Estimate:
    """The quantile of a typical process, and its interval.

    The value takes enough runs for the quantile to lie among them, dependent or not; the interval
    takes rounds enough and independent runs enough.
    """
    runs, needed_runs = len(rounds.pooled), needed_samples(quantile)
    if runs < needed_runs:
        return Estimate(None, None, f"{runs} of {needed_runs} runs")
    shortest, outside = min(map(len, rounds.ascending)), min(quantile, 1.0 - quantile)
    if shortest * outside < 1.0:
        reason = f"a round has {shortest} runs, too few to lie beyond it"
        return Estimate(None, None, reason, too_short=True)
    round_values = np.array(round_quantiles(rounds, quantile))
    correlation = correlation_of(round_values, rounds, is_load_sensitive=quantile > TAIL)
    estimate = Estimate(
        typical(round_values),
        None,
        "",
        tuple(round_values.tolist()),
        tick=rounds.tick,
        correlation=correlation,
    )
    if len(round_values) < INTERVALS_LEAST_ROUNDS:
        return replace(estimate, absent=f"{len(round_values)} of {INTERVALS_LEAST_ROUNDS} rounds")
    cluster_count = int(rounds.clusters(quantile))
    if is_tail(quantile) and cluster_count < BEYOND:
        reason = f"a round has {cluster_count} of {BEYOND} independent runs beyond it"
        return replace(estimate, absent=reason, too_short=True)
    independent = sum(rounds.independent(quantile))
    rank_bounds = interval_of_ranks(rounds.pooled, independent, quantile, confidence)
    if rank_bounds is None:
        minimum = needed_samples(quantile, confidence)
        reason = f"{independent} of {minimum} independent runs for an interval"
        return replace(estimate, absent=reason)
    round_interval = interval_between(round_values, confidence, correlation.inflation)
    if round_interval is None:
        return replace(estimate, absent="a latency of 0", tick=0.0)
    low = max(0.0, min(round_interval.low, rank_bounds.low) - rounds.tick)
    high = max(round_interval.high, rank_bounds.high) + rounds.tick
    return replace(estimate, interval=Interval(low, high))


def marks_of(rounds: Rounds, estimates: Iterable[Estimate] = ()) -> tuple[str, ...]:
    """What limits every interval over these rounds, as codes.

    `few_rounds`, `few_runs`; `rounds_correlated` where neighbouring rounds resemble each other
    significantly in one of the `estimates`, `rounds_close_in_time` where all rounds began within
    a minute, nine where other work took the core, which is `contended`.
    """
    correlations = [item.correlation for item in estimates if item.correlation is not None]
    marks = {
        "few_rounds": len(rounds.ascending) < FEW_ROUNDS,
        "few_runs": min(map(len, rounds.ascending)) < FEW_RUNS,
        "rounds_correlated": any(item.is_significant for item in correlations),
        "rounds_close_in_time": any(item.is_close(rounds.is_contended) for item in correlations),
        "contended": rounds.is_contended,
    }
    return tuple(mark for mark, applies in marks.items() if applies)


def round_quantiles(rounds: Rounds, quantile: float) -> list[float]:
    """Each round's own quantile, in their order."""
    return [order_statistic(ascending, quantile) for ascending in rounds.ascending]


def interval_of_ranks(
    pooled_values: np.ndarray, independent: int, quantile: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """The exact rank interval of so many independent samples, at the same shares of all."""
    ranks = rank_interval(independent, quantile, confidence)
    if ranks is None:
        return None
    low, high = (math.ceil(rank * len(pooled_values) / independent) for rank in ranks)
    return Interval(
        float(pooled_values[low - 1]), float(pooled_values[min(high, len(pooled_values)) - 1])
    )


_BLOCKS = 10
"""Of a round: each long enough to hold most spells of slow runs."""


def typical_mean(rounds: Rounds, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of a typical process; its interval holds that over the rounds and that over runs."""
    round_means = np.array([mean(ascending) for ascending in rounds.ascending])
    correlation = correlation_of(round_means, rounds, is_load_sensitive=True)
    value, by_round = typical(round_means), tuple(round_means.tolist())
    if len(round_means) < INTERVALS_LEAST_ROUNDS:
        reason = f"{len(round_means)} of {INTERVALS_LEAST_ROUNDS} rounds"
        return Estimate(value, None, reason, by_round, correlation=correlation)
    interval = interval_between(round_means, confidence, correlation.inflation)
    if interval is None:
        return Estimate(value, None, "a latency of 0", by_round, correlation=correlation)
    block_interval = _interval_of_blocks(rounds, round_means, value, confidence)
    if block_interval is not None:
        interval = Interval(
            min(interval.low, block_interval.low), max(interval.high, block_interval.high)
        )
    return Estimate(value, interval, "", by_round, correlation=correlation)


def _interval_of_blocks(
    rounds: Rounds, round_means: np.ndarray, value: float, confidence: float
) -> Interval | None:
    """Of the mean, by the means of consecutive blocks of each round over the round's own mean.

    Blocks of dependent runs vary as much as the dependence makes them, as long as they hold most
    spells. All rounds' blocks together, since one round has few. None where a round has fewer runs
    than blocks.
    """
    parts = []
    for latencies, level in zip(rounds.in_time, round_means.tolist(), strict=True):
        length = len(latencies) // _BLOCKS
        if not length:
            return None
        blocks = latencies[: length * _BLOCKS].reshape(_BLOCKS, length).mean(axis=1) / level
        parts.append(blocks - blocks.mean())
    residuals = np.concatenate(parts)
    # Each round's own mean was taken out of its blocks.
    spread = deviation(residuals) * math.sqrt((len(residuals) - 1) / (len(residuals) - len(parts)))
    if not spread:
        return None
    low_reach, high_reach = reaches(len(residuals), skewness_of(residuals), confidence)
    error = spread / math.sqrt(len(residuals))
    return Interval(value * math.exp(-low_reach * error), value * math.exp(high_reach * error))


LEVEL = 0.99
MINIMUM_ROUNDS = 5
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
    rounds' own quantiles and Hall's allowance for their skewness (`student_interval`), and of the
    order statistic that the binomial distribution of as many samples as are independent puts
    above the quantile with 99 %. None where rounds are not sure, with 99 %, to have 20 clusters of
    runs beyond it in the mean (`least_clusters`).
    """
    count = len(rounds.ascending)
    if count < MINIMUM_ROUNDS:
        return Bound(None, f"{count} of {MINIMUM_ROUNDS} rounds")
    cluster_count = max(0, int(rounds.least_clusters(quantile, LEVEL)))
    independent = sum(rounds.independent(quantile))
    if cluster_count < BEYOND:
        return Bound(None, f"a round has {cluster_count} of {BEYOND} independent runs beyond it")
    independent = sum(rounds.independent(quantile))
    rank_bounds = interval_of_ranks(rounds.pooled, independent, quantile, _TWO_SIDED)
    if rank_bounds is None:
        minimum = needed_samples(quantile, _TWO_SIDED)
        return Bound(None, f"{independent} of {minimum} independent runs")
    round_values = np.array(round_quantiles(rounds, quantile))
    inflation = correlation_of(round_values, rounds, is_load_sensitive=True).inflation
    round_interval = student_interval(round_values, _TWO_SIDED, inflation)
    if round_interval is None:
        return Bound(None, "a latency of 0")
    return Bound(max(round_interval.high, rank_bounds.high))
