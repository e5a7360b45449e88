"""Tails of dependent samples: effective sample size, share beyond a deadline, early stopping.

A machine that is slow for a moment is slow for several runs, so the runs beyond a high quantile
say less than as many independent ones would. Pure functions of latencies in the order in which
they were measured.

For a deadline too: runs are no independent draws, late ones come in clusters, and processes
differ. So the exact binomial interval is that of as many runs as they are worth.

MLPerf's early stopping is for comparison with submissions. It counts samples as if each were
independent of all others, which those of one process are not: `estimates.py` has the bound to
trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import mul

import numpy as np

from app.stats.intervals import (
    MINIMUM_ROUNDS,
    beta_quantile,
    binomial_share,
    chi_square_quantile,
    t_quantile,
)
from app.stats.quantiles import CONFIDENCE as QUANTILES_CONFIDENCE
from app.stats.quantiles import Interval

_SCALES = (40, 20)
"""Blocks of a round: long enough to hold most clusters, and enough of them for a variance."""
_FEW = 200
"""Exceedances that Python counts faster than numpy."""
_LONG_SCALES = (10, 5)
"""Blocks that hold longer spells. So few vary by chance alone, hence they count only where their
variance is larger than independent runs give in 95 of 100 cases."""


def independent_runs(
    tail_masks: Sequence[np.ndarray], indices: Sequence[float] = ()
) -> list[float]:
    """As how many independent runs each round counts towards a tail's share, at most its length.

    `tail_masks` says for each run of each round, in order of time, whether it lies in the tail,
    boolean [n]. Two estimates of how much the number of exceedances varies, the less favourable is
    used: from the sizes of the clusters within the round, and from the numbers in blocks of all
    rounds, which sees what is slow for so long that it falls into several clusters. `indices` are
    the rounds' extremal indices, where they are known.
    """
    places = [mask.nonzero()[0] for mask in tail_masks]
    lengths = [len(mask) for mask in tail_masks]
    overdispersion = _overdispersion(places, lengths)
    parts = zip(places, indices or map(_index_of, places), lengths, strict=True)
    return [
        length * min(_cluster_share(positions, index), 1.0 / overdispersion)
        for positions, index, length in parts
    ]


def extremal_index(tail_mask: np.ndarray) -> float:
    """The share of independent clusters among exceedances, boolean [n], in (0, 1].

    The intervals estimator (Ferro & Segers, J. R. Statist. Soc. B 65, 2003, equation 11) over the
    gaps between neighbouring exceedances of one round. Exceedances that all follow each other are
    one cluster. 1 below two exceedances: nothing then speaks against it.
    """
    return _index_of(tail_mask.nonzero()[0])


def _index_of(places: np.ndarray) -> float:
    """The extremal index of exceedances at these places."""
    if len(places) < 2:
        return 1.0
    gaps = places[1:] - places[:-1]
    if int(gaps.max()) <= 2:
        return 1.0 / len(places)
    # Whole numbers, and three sums of them, so that a run of thousands of cases takes seconds.
    count, total, squares = len(gaps), int(places[-1] - places[0]), int(gaps @ gaps)
    fewer = total - count
    return min(1.0, 2.0 * fewer**2 / (count * (squares - 3 * total + 2 * count)))


def _cluster_share(places: np.ndarray, index: float) -> float:
    """The sum of the clusters' sizes over the sum of their squares, of exceedances at `places`.

    Clusters that come independently make the number of exceedances vary by the sum of the squares
    of their sizes, independent runs by the sum of the sizes. The extremal `index` says how many
    clusters there are; the widest gaps separate them (Ferro & Segers, section 4).
    """
    if len(places) < 2:
        return 1.0
    clusters = min(len(places), int(index * len(places)) + 1)
    gaps = places[1:] - places[:-1]
    widest = np.sort(np.argsort(gaps, kind="stable")[len(gaps) - (clusters - 1) :])
    edges = np.empty(len(widest) + 2, np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, widest + 1, len(places)
    sizes = edges[1:] - edges[:-1]
    return len(places) / int(sizes @ sizes)


def _overdispersion(places: Sequence[np.ndarray], lengths: Sequence[int]) -> float:
    """The variance of the numbers of exceedances in a round's blocks over their mean, at least 1.

    Independent runs give 1 for a rare event (a Poisson distribution). All rounds together, since
    one has too few exceedances for a variance; the largest of several lengths of blocks, since a
    spell that is longer than a block makes whole blocks slow.
    """
    if sum(map(len, places)) < _FEW:
        places = [part.tolist() for part in places]
    largest = max(1.0, *(_dispersion(places, lengths, blocks) for blocks in _SCALES))
    for blocks in _LONG_SCALES:
        dispersion, freedom = _dispersion(places, lengths, blocks), len(places) * (blocks - 1)
        if dispersion * freedom > chi_square_quantile(freedom, 0.95):
            largest = max(largest, dispersion)
    return largest


def _dispersion(
    places: Sequence[np.ndarray | list[int]], lengths: Sequence[int], blocks: int
) -> float:
    """The same for one number of blocks in a round, 1 where there are no exceedances.

    The runs after the last whole block are left out.
    """
    squares = expected = 0.0
    for part, runs in zip(places, lengths, strict=True):
        length = runs // blocks
        if not length:
            continue
        if isinstance(part, list):
            counts = [0] * blocks
            for place in part:
                if place < length * blocks:
                    counts[place // length] += 1
            total, square = sum(counts), sum(map(mul, counts, counts))
        else:
            counted = np.bincount(part[: part.searchsorted(length * blocks)] // length)
            total, square = int(counted.sum()), int(counted @ counted)
        squares += square - total * total / blocks
        expected += (blocks - 1) * total / blocks
    return squares / expected if expected else 1.0


@dataclass(frozen=True, slots=True)
class LateShare:
    """`runs` of all were later, which is the `share`; `absent` says why there is no interval."""

    runs: int
    share: float
    interval: Interval | None
    absent: str = ""


def late_share_of(
    deadline: float, rounds: Sequence[np.ndarray], confidence: float = QUANTILES_CONFIDENCE
) -> LateShare:
    """What share of all runs took longer than `deadline`, in the unit of the latencies.

    `rounds` are at least one, each its latencies [n] in order of time. The interval is Clopper and
    Pearson's, of the effective number of runs: that of independent clusters, as for the tail of a
    percentile, or where rounds differ by more than these explain, the number that their spread
    tells (Korn and Graubard, Survey Methodology 24, 1998), with Student's t for how few they are.
    """
    runs = np.array([len(latencies) for latencies in rounds], float)
    late = np.array([np.count_nonzero(latencies > deadline) for latencies in rounds], float)
    share = float(late.sum() / runs.sum())
    if len(rounds) < MINIMUM_ROUNDS:
        return LateShare(int(late.sum()), share, None, f"{len(rounds)} of {MINIMUM_ROUNDS} rounds")
    worth = min(
        _independent(deadline, rounds, share), _worth_by_spread(runs, late, share, confidence)
    )
    return LateShare(int(late.sum()), share, exact_interval(share * worth, worth, confidence))


def exact_interval(late: float, runs: float, confidence: float = QUANTILES_CONFIDENCE) -> Interval:
    """Clopper and Pearson's interval of a share, of numbers that need not be whole."""
    tail = (1.0 - confidence) / 2.0
    low = beta_quantile(late, runs - late + 1.0, tail) if late > 0 else 0.0
    high = beta_quantile(late + 1.0, runs - late, 1.0 - tail) if late < runs else 1.0
    return Interval(low, high)


def _independent(deadline: float, rounds: Sequence[np.ndarray], share: float) -> float:
    """How many independent runs all rounds are worth: the rarer side comes in clusters."""
    side = 1.0 if share <= 0.5 else -1.0
    return sum(independent_runs([side * latencies > side * deadline for latencies in rounds]))


def _worth_by_spread(runs: np.ndarray, late: np.ndarray, share: float, confidence: float) -> float:
    """How many independent runs would leave the share as uncertain as the rounds' spread does."""
    rounds, total = len(runs), runs.sum()
    variance = rounds / (rounds - 1) * np.sum((late - share * runs) ** 2) / total**2
    if variance == 0.0:
        return float(total)
    tail = 0.5 + confidence / 2.0
    inflation = (t_quantile(total - 1, tail) / t_quantile(rounds - 1, tail)) ** 2
    return float(min(share * (1.0 - share) / variance * inflation, total))


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
    needed_count = needed_for(1, quantile)
    if count < needed_count:
        return EarlyStopping(None, count, needed_count)
    return EarlyStopping(float(ascending[count - most_above(count, quantile)]), count, needed_count)


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
def needed_for(excess_count: int, quantile: float) -> int:
    """The fewest samples of which so many may lie above: for p99 459, 662 for none, one."""
    low, high = excess_count, excess_count + 1
    while most_above(high, quantile) < excess_count:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if most_above(middle, quantile) < excess_count:
            low = middle
        else:
            high = middle
    return high
