"""Patterns in samples: outliers and their causes, two levels, stalls at even distances; and whether
several cases were slow in the same passes: then the machine moved, not the processes.

An event explains as many outliers as it can have slowed down, and the slowest of its block first;
so one switch in a block of thousands of runs does not explain all that were slow in it.

Strips of the sorted latencies that hold equally many runs are narrow where runs crowd. Two levels
are two crowds with a wide strip between them, among which the runs went to and fro.

Stalls that come by chance have distances of all lengths: the median distance d of a Poisson
process has 14 % of the others within a tenth of it or of its multiples, by its exponential law.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from app.cases.telemetry import Disturbance
from app.stats.intervals import beta_quantile
from app.stats.quantiles import clock_tick, order_statistic
from runtimes.execution import Samples

UNSEEN = "unseen"
CAUSES = ("steal", "switch", "page fault", "interrupts", "clock")
"""A hypervisor or another thread had the core, a page came from disk, a device interrupted far
more than usual, the clock was low."""
_TICK_MS = 10.0
"""Stolen time is counted in such steps: up to one more may have been taken."""
_MINIMUM_STEAL_MS = 0.1
"""A run that took less beyond the median did not lose its core to a hypervisor."""


def fence(ascending: np.ndarray) -> float:
    """Three interquartile ranges above the third quartile: what is beyond is an outlier.

    The range is at least one tick of the clock: both quartiles may read as the same multiple.
    """
    first, third = order_statistic(ascending, 0.25), order_statistic(ascending, 0.75)
    return third + 3.0 * max(third - first, clock_tick(ascending))


def outlier_mask(samples: Samples) -> np.ndarray:
    """Which of one round's runs are beyond the fence of their shape, booleans [n]."""
    service = samples.service_ns
    if samples.shapes is None:
        return _is_beyond_fence(service)
    mask = np.zeros(len(service), bool)
    for shape_mask in _shape_masks(samples):
        mask[shape_mask] = _is_beyond_fence(service[shape_mask])
    return mask


def _is_beyond_fence(service: np.ndarray) -> np.ndarray:
    """Of runs that are alike; none of no runs."""
    if not len(service):
        return np.zeros(0, bool)
    mask: np.ndarray = service > fence(np.sort(service))
    return mask


def _shape_masks(samples: Samples) -> list[np.ndarray]:
    """Which runs are of one shape, booleans [n] for each shape that ran."""
    if samples.shapes is None:
        return [np.ones(len(samples.started_ns), bool)] if len(samples.started_ns) else []
    return [samples.shapes == shape for shape in np.unique(samples.shapes)]


def _typical_ns(samples: Samples) -> np.ndarray:
    """The median of its shape for each run [n]."""
    service = samples.service_ns
    typical = np.zeros(len(service), service.dtype)
    for mask in _shape_masks(samples):
        typical[mask] = order_statistic(np.sort(service[mask]), 0.5)
    return typical


def outlier_causes(samples: Samples, disturbances: Sequence[Disturbance]) -> Counter[str]:
    """How many of one round's outliers have which cause; `unseen` where none was seen."""
    latency, counts = samples.service_ns, Counter[str]()
    if not len(latency):
        return counts
    is_outlier = outlier_mask(samples)
    if not is_outlier.any():
        return counts
    starts_ns = samples.started_ns[is_outlier]
    excess_ms = (latency - _typical_ns(samples))[is_outlier] * 1e-6
    for block in disturbances:
        is_in_block = (starts_ns >= block.begun_ns) & (starts_ns < block.ended_ns)
        counts += _causes_in_block(np.sort(excess_ms[is_in_block])[::-1].tolist(), block)
    counts[UNSEEN] = len(starts_ns) - counts.total()
    return +counts


def _causes_in_block(excess_ms: Sequence[float], block: Disturbance) -> Counter[str]:
    """`excess_ms` is what the outliers took beyond the median, the largest first."""
    counts, rest = Counter[str](), []
    stolen_ms = block.steal_ms + _TICK_MS if block.steal_ms else 0.0
    for beyond_ms in excess_ms:
        if _MINIMUM_STEAL_MS <= beyond_ms <= stolen_ms:
            stolen_ms -= beyond_ms
            counts["steal"] += 1
        else:
            rest.append(beyond_ms)
    remaining = len(rest)
    for cause, maximum in (
        ("switch", block.involuntary_switches),
        ("page fault", block.major_faults),
        ("interrupts", remaining if block.many_interrupts else 0),
        ("shared core", remaining if block.shared_core else 0),
        ("clock", remaining if block.low_clock else 0),
    ):
        counts[cause] = min(maximum, remaining)
        remaining -= counts[cause]
    return counts


_MAXIMUM_STRIPS = 40
_MINIMUM_RUNS = 50
"""In a strip: its width is then known within some 14 %."""
_MINIMUM_STRIPS = 10
_DEPTH = 3.0
"""So many times sparser than the lesser crowd are the runs between two."""
_MINIMUM_SHARE = 0.1
_MINIMUM_SEPARATION = 1.1
"""Levels that are nearer to each other are none that anybody need know of."""
_NARROWEST = 0.005
"""No crowd counts as narrower than this share of its level."""
_PASSAGES = 10
"""A level that changed once is a drift, and noise that hangs together wanders a few times."""
_ROUNDS_ALIKE = 1.1


@dataclass(frozen=True, slots=True)
class Modes:
    """The medians of the two levels, in the unit of the latencies, and the share of runs at the
    upper one."""

    low: float
    high: float
    high_share: float


def modes(in_time: np.ndarray, ascending: np.ndarray) -> Modes | None:
    """Of one round's latencies, in order of time and sorted; None for one level, or too few runs.

    With s strips of equal count, the density within strip k is proportional to 1 / width k, on
    a logarithmic scale. The valley is the strip that is widest beside the narrowest to its left
    and the narrowest to its right, the wider of these two.
    """
    strips = min(_MAXIMUM_STRIPS, len(ascending) // _MINIMUM_RUNS)
    if strips < _MINIMUM_STRIPS or ascending[0] <= 0.0:
        return None
    ranks = np.linspace(0, len(ascending) - 1, strips + 1).round().astype(int)
    edges = ascending[ranks].astype(float)
    widths = np.maximum(np.diff(np.log(edges)), _floor(ascending))
    left_minima = np.minimum.accumulate(widths)
    right_minima = np.minimum.accumulate(widths[::-1])[::-1]
    edge = math.ceil(_MINIMUM_SHARE * strips)
    inner = np.arange(edge, strips - edge)
    depths = widths[inner] / np.maximum(left_minima[inner - 1], right_minima[inner + 1])
    valley = int(inner[np.argmax(depths)])
    low = int(np.argmin(widths[:valley]))
    high = valley + 1 + int(np.argmin(widths[valley + 1 :]))
    if depths.max() < _DEPTH or _passages(in_time, edges[low + 1], edges[high]) < _PASSAGES:
        return None
    border = math.sqrt(edges[valley] * edges[valley + 1])
    lower_count = int(np.searchsorted(ascending, border))
    levels = [
        order_statistic(part, 0.5) for part in (ascending[:lower_count], ascending[lower_count:])
    ]
    if levels[1] < _MINIMUM_SEPARATION * levels[0]:
        return None
    return Modes(levels[0], levels[1], 1.0 - lower_count / len(ascending))


def consensus_modes(rounds: Sequence[Modes | None]) -> Modes | None:
    """What more than half of the rounds agree on: the medians of their levels and shares."""
    round_modes = [mode for mode in rounds if mode is not None]
    if 2 * len(round_modes) <= len(rounds):
        return None
    low, high = (
        float(np.median([getattr(m, name) for m in round_modes])) for name in ("low", "high")
    )
    matches = [m for m in round_modes if _are_close(m.low, low) and _are_close(m.high, high)]
    if 2 * len(matches) <= len(rounds):
        return None
    return Modes(low, high, float(np.median([m.high_share for m in matches])))


def _are_close(level: float, reference: float) -> bool:
    return max(level, reference) < _ROUNDS_ALIKE * min(level, reference)


def _floor(ascending: np.ndarray) -> float:
    """No strip is known to be narrower than a tick of the clock that timed it."""
    return max(_NARROWEST, clock_tick(ascending) / float(ascending[0]))


def _passages(in_time: np.ndarray, low: float, high: float) -> int:
    """How often the runs went from at most `low` to at least `high`, or back."""
    sides = (in_time >= high).astype(np.int8) - (in_time <= low)
    return int(np.count_nonzero(np.diff(sides[sides != 0])))


_MINIMUM_DISTANCES = 12
"""Distances: nine of twelve that are even by chance are 5 in a million."""
_EVEN, _TOLERANCE = 0.75, 0.1
_STALLS_MINIMUM_RUNS = 5
"""Stalls that are nearer than so many runs are the runs' own pace."""
_MINIMUM_EXCESS = 0.2
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
    rounds = [measurement for measurement in rounds if len(measurement.latency)]
    if not rounds:
        return None
    medians = [float(m.ascending[len(m.ascending) // 2]) for m in rounds]
    typical = float(np.median(medians))
    pairs = list(zip(rounds, medians, strict=True))
    threshold = max(
        _MINIMUM_EXCESS * typical,
        *(fence(measurement.ascending) - median for measurement, median in pairs),
    )
    maximum = max(float(measurement.ascending[-1]) - median for measurement, median in pairs)
    while 0.0 < threshold < maximum:
        events = [_events(measurement, median, threshold) for measurement, median in pairs]
        if sum(len(starts) for starts, _ in events) < _MINIMUM_DISTANCES:
            return None
        period_ns = _period([starts for starts, _ in events])
        runs = sum(len(measurement.latency) for measurement in rounds)
        duration_ns = sum(float(m.finished_ns[-1] - m.started_ns[0]) for m in rounds)
        if period_ns is not None and period_ns > _STALLS_MINIMUM_RUNS * duration_ns / runs:
            excess = np.concatenate([event_excess for _, event_excess in events])
            share = float(
                excess.sum() / sum(float(measurement.latency.sum()) for measurement in rounds)
            )
            return Stalls(len(excess), float(np.median(excess)), period_ns, share)
        threshold *= 2.0
    return None


def _events(measurement: Timed, median: float, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """When each stall began [m], and by how much its slowest run was beyond the median [m].

    Runs that follow each other, or run at the same time on several lanes, are in one stall.
    """
    slow = np.flatnonzero(measurement.latency - median > threshold)
    if not len(slow):
        return np.empty(0), np.empty(0)
    ends = np.maximum.accumulate(measurement.finished_ns[slow])
    is_separate = (np.diff(slow) > 1) & (measurement.started_ns[slow[1:]] > ends[:-1])
    first = np.concatenate([[0], np.flatnonzero(is_separate) + 1])
    excess = np.maximum.reduceat(measurement.latency[slow] - median, first)
    return measurement.started_ns[slow[first]], excess


def _period(starts: Sequence[np.ndarray]) -> float | None:
    """The median distance, if most are within a tenth of it or of a multiple: some go unseen."""
    distances = np.concatenate(list(_distances(starts)))
    if len(distances) < _MINIMUM_DISTANCES:
        return None
    median = float(np.median(distances))
    times = distances / median
    even = (np.abs(times - times.round()) <= _TOLERANCE) & (times.round() >= 1.0)
    return median if even.mean() >= _EVEN else None


def _distances(starts: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    for times in starts:
        yield np.diff(times)


LEAST_ROUNDS = 5
"""Of fewer passes the orders of two cases often agree by chance."""
_LEVEL = 0.99


@dataclass(frozen=True, slots=True)
class Concordance:
    """Kendall's coefficient of concordance: 1 where all cases order the passes alike, 1 over their
    number where they do so by chance. `is_significant`: independent cases reach it in one run of a
    hundred."""

    coefficient: float
    is_significant: bool


def concordance(figures: Sequence[ArrayLike]) -> Concordance | None:
    """Of each case's figures in the same passes; None with fewer than two cases or five passes.

    With m cases and n passes the coefficient of independent cases follows a beta law with
    a = (n - 1 - 2 / m) / 2 and b = (m - 1) a, corrected for the steps of ranks (M. G. Kendall and
    B. Babington Smith, Ann. Math. Statist. 10, 1939).
    """
    values = np.array(figures, float)
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < LEAST_ROUNDS:
        return None
    cases, passes = values.shape
    sums = np.sum([_ranks(row) for row in values], axis=0)
    squares = float(np.square(sums - sums.mean()).sum())
    most = cases**2 * (passes**3 - passes) / 12.0
    first = (passes - 1 - 2.0 / cases) / 2.0
    limit = beta_quantile(first, (cases - 1) * first, _LEVEL)
    return Concordance(squares / most, (squares - 1.0) / (most + 2.0) > limit)


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 0; equal values, as those of a coarse clock, share the middle of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: np.ndarray = np.cumsum(counts) - (counts + 1) / 2.0
    return middle[place]
