"""Whether the slow runs of a case come at even distances in time: a pure function of its rounds.

What comes by chance has distances of all lengths: the median distance d of a Poisson process has
14 % of the others within a tenth of it or of its multiples, by its exponential law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.outliers import fence

_LEAST = 12
"""Distances: nine of twelve that are even by chance are 5 in a million."""
_EVEN, _WITHIN = 0.75, 0.1
_LEAST_RUNS = 5
"""Stalls that are nearer than so many runs are the runs' own pace."""
_WORTH = 0.2
"""A stall takes at least so much of the median longer than a run does."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """How many were seen, by how much they outlast the median run at the median, in the unit of
    the latencies, how far apart they begin, in nanoseconds, and their share of the time."""

    count: int
    typical: float
    period_ns: float
    time_share: float


@dataclass(frozen=True, slots=True)
class Timed:
    """One round's runs in order of time [n]: beginnings and ends in nanoseconds, latencies, and
    these sorted."""

    started_ns: np.ndarray
    finished_ns: np.ndarray
    latency: np.ndarray
    ascending: np.ndarray


def stalls(rounds: Sequence[Timed]) -> Stalls | None:
    """Of all rounds together; None where slow runs are few or come at no even distance.

    Every outlier is looked at first, then only those that are twice as far from the median as
    before, and so on: a large stall that is regular may stand among small ones that are not.
    """
    rounds = [one for one in rounds if len(one.latency)]
    if not rounds:
        return None
    medians = [float(one.ascending[len(one.ascending) // 2]) for one in rounds]
    typical = float(np.median(medians))
    pairs = list(zip(rounds, medians, strict=True))
    least = max(_WORTH * typical, *(fence(one.ascending) - median for one, median in pairs))
    most = max(float(one.ascending[-1]) - median for one, median in pairs)
    while 0.0 < least < most:
        found = [_events(one, median, least) for one, median in pairs]
        if sum(len(begun) for begun, _ in found) < _LEAST:
            return None
        period_ns = _period([begun for begun, _ in found])
        runs = sum(len(one.latency) for one in rounds)
        lasted = sum(float(one.finished_ns[-1] - one.started_ns[0]) for one in rounds)
        if period_ns is not None and period_ns > _LEAST_RUNS * lasted / runs:
            excess = np.concatenate([beyond for _, beyond in found])
            share = float(excess.sum() / sum(float(one.latency.sum()) for one in rounds))
            return Stalls(len(excess), float(np.median(excess)), period_ns, share)
        least *= 2.0
    return None


def _events(one: Timed, median: float, least: float) -> tuple[np.ndarray, np.ndarray]:
    """When each stall began [m], and by how much its slowest run was beyond the median [m].

    Runs that follow each other, or run at the same time on several lanes, are in one stall.
    """
    slow = np.flatnonzero(one.latency - median > least)
    if not len(slow):
        return np.empty(0), np.empty(0)
    ended = np.maximum.accumulate(one.finished_ns[slow])
    apart = (np.diff(slow) > 1) & (one.started_ns[slow[1:]] > ended[:-1])
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    beyond = np.maximum.reduceat(one.latency[slow] - median, first)
    return one.started_ns[slow[first]], beyond


def _period(begun: Sequence[np.ndarray]) -> float | None:
    """The median distance, if most are within a tenth of it or of a multiple: some go unseen."""
    distances = np.concatenate(list(_distances(begun)))
    if len(distances) < _LEAST:
        return None
    median = float(np.median(distances))
    times = distances / median
    even = (np.abs(times - times.round()) <= _WITHIN) & (times.round() >= 1.0)
    return median if even.mean() >= _EVEN else None


def _distances(begun: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    for one in begun:
        yield np.diff(one)
