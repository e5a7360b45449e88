"""Both speeds of a machine: a host that is shared switches between levels, each for ten
milliseconds to many seconds, and which of them a round meets is chance.

A window is a short stretch of runs, known by their median: it lies on one level unless the level
changes in the middle of it. So the medians of windows crowd at levels, with a gap between two.

For a distribution with one peak, whatever its shape, of three stretches of equal width the middle
one never holds the least. That holds for noise, heavy tails, rare slow windows and a drift that
visits everything between its ends. A gap is therefore a stretch that holds a fifth or less of what
one below it holds, and of what one above it holds, where these two hold so many windows that
chance does not do it. Windows that depend on each other wander into bumps, and each process may
have a level of its own, with gaps between processes; neither leaps. So at least two processes must
have leapt the gap, from one window to the next, and not all of them up or all down: a step that
all make alike is theirs. Of levels that outlast processes few leaps are seen: one is enough, of a
process that stays on either side, where two processes at least begin on each. What processes keep
throughout is no speed of the machine.

Processes that took turns have a ratio for each state: each cycle's turns saw one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.intervals import interval_between, typical
from app.stats.quantiles import CONFIDENCE, Interval, clock_tick

WINDOW_NS = 5_000_000
"""Levels that last 10 ms fill a window at least; it is as long as a turn."""
MINIMUM_RUNS = 8
_SAMPLE = 500
"""So many runs tell how many are in a window."""
_WIDTH = 0.04
"""Of a stretch, on the logarithmic scale: levels that differ by less are one."""
_STEPS = 4
"""Stretches begin so many times in the width of one."""
_DEPTH = 5.0
_CROWD = 16
"""The fewest windows of a crowd: of a distribution with one peak the next stretch then holds a
fifth or less by chance once in thousands."""
_FARTHEST = 3.0
"""Windows that are so much slower than the median, on the logarithmic scale, are at no level."""
_FEWEST = 2
"""Windows at a level by which a process has a p50 of it."""
_STAY = 4
"""So many windows on either side are more than the tails of a process of which the level lies in
the gap."""
SHARE, _PROCESSES = 0.05, 2
"""A level that so large a share of the time of so many processes is at is the undisturbed one."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """The fastest level: its p50 with the interval over processes, None with fewer than three that
    were at it, and its share of the time; `factor` is how many times as long a run takes at the
    median of the rest. `is_usual`: two processes at least spent 5 % of their time at it."""

    p50: float
    interval: Interval | None
    share: float
    factor: float
    is_usual: bool


def window_medians(latencies_ns: np.ndarray, sets: int = 1) -> np.ndarray:
    """Of one process's runs in order of time, those that are left over at the end in none; so many
    sets of inputs are fed in turn, and each window has all of them equally often.

    All windows have the same number of runs, so that one from which the core was taken for
    milliseconds counts as all others do.
    """
    if not len(latencies_ns):
        return np.empty(0)
    some = latencies_ns[:: 1 + len(latencies_ns) // _SAMPLE]
    runs = max(MINIMUM_RUNS, math.ceil(WINDOW_NS / max(1.0, float(_medians(some)))))
    runs = sets * math.ceil(runs / sets)
    count = len(latencies_ns) // runs
    return _medians(latencies_ns[: count * runs].reshape(count, runs))


def _medians(values: np.ndarray) -> np.ndarray:
    """Along the last axis, as `np.median`, in a third of its time."""
    count = values.shape[-1]
    middles = (count - 1) // 2, count // 2
    parted = np.partition(values, middles, axis=-1)
    medians: np.ndarray = (parted[..., middles[0]] + parted[..., middles[1]]) / 2.0
    return medians


def speeds(processes: Sequence[np.ndarray], confidence: float = CONFIDENCE) -> Speeds | None:
    """From the window medians of each process, in order of time; None where one level is seen."""
    limit = border(processes)
    if limit is None:
        return None
    medians = np.concatenate(processes)
    is_lower = [windows < limit for windows in processes]
    pairs = list(zip(processes, is_lower, strict=True))
    own = np.array([_level(*pair) for pair in pairs if np.count_nonzero(pair[1]) >= _FEWEST])
    if not len(own):
        return None
    p50 = typical(own)
    # What windows take at their medians: what took the core from them is no part of a level.
    times = np.array([(windows[lower].sum(), windows.sum()) for windows, lower in pairs])
    is_usual = (times[:, 0] > 0.0) & (times[:, 0] >= SHARE * times[:, 1])
    spent, total = times.sum(axis=0).tolist()
    return Speeds(
        p50,
        interval_between(own, confidence),
        spent / total,
        float(np.median(medians[medians >= limit])) / p50,
        int(np.count_nonzero(is_usual)) >= _PROCESSES,
    )


def _level(windows: np.ndarray, is_lower: np.ndarray) -> float:
    """The median of a process's windows at the lower level, without those beside another one,
    which may hold runs of it, where that leaves any."""
    padded = np.pad(is_lower, 1, constant_values=True)
    is_inner = padded[:-2] & is_lower & padded[2:]
    return float(np.median(windows[is_inner if is_inner.any() else is_lower]))


def border(processes: Sequence[np.ndarray]) -> float | None:
    """The middle of the lowest gap between two levels of the window medians of each process, in
    order of time; None where one level is seen."""
    if sum(map(len, processes)) < 2 * _CROWD:
        return None
    ascending = np.sort(np.concatenate(processes))
    if ascending[0] <= 0.0:
        return None
    width = max(_WIDTH, 2.0 * clock_tick(ascending) / float(ascending[0]))
    logarithms = np.log(ascending)
    highest = min(logarithms[-1], logarithms[len(logarithms) // 2] + _FARTHEST)
    starts = np.arange(logarithms[0] - width, highest + width, width / _STEPS)
    first, end = (np.searchsorted(logarithms, places) for places in (starts, starts + width))
    counts = end - first
    crowds = np.zeros(len(counts), int)
    crowds[_STEPS:-_STEPS] = np.minimum(
        np.maximum.accumulate(counts)[: -2 * _STEPS],
        np.maximum.accumulate(counts[::-1])[::-1][2 * _STEPS :],
    )
    is_gap = (crowds >= _CROWD) & (_DEPTH * counts <= crowds)
    edges = np.flatnonzero(np.diff(is_gap.astype(np.int8), prepend=0, append=0))
    for begin, after in edges.reshape(-1, 2).tolist():
        emptiest = begin + np.flatnonzero(counts[begin:after] == counts[begin:after].min())
        low = float(starts[emptiest].mean())
        high = low + width
        if _is_shared([_sides(windows, math.exp(low), math.exp(high)) for windows in processes]):
            return math.exp(low + width / 2.0)
    return None


def _sides(windows: np.ndarray, low: float, high: float) -> np.ndarray:
    """Of one process's windows in order of time: 1 above the gap, -1 below it, 0 within it."""
    sides: np.ndarray = (windows >= high).astype(np.int8) - (windows <= low)
    return sides


def _is_shared(processes: Sequence[np.ndarray]) -> bool:
    """Whether processes meet both levels and none is their own, by the sides of their windows."""
    leaps = [sides[1:] * (sides[1:] * sides[:-1] < 0) for sides in processes]
    ways = {way for one in leaps for way in one[one != 0].tolist()}
    if sum(one.any() for one in leaps) >= _PROCESSES and len(ways) == 2:
        return True
    first = [int(sides[sides != 0][0]) for sides in processes if sides.any()]
    stays = [min(np.count_nonzero(sides == side) for side in (-1, 1)) for sides in processes]
    has_stayed = any(one.any() and stay >= _STAY for one, stay in zip(leaps, stays, strict=True))
    return has_stayed and min(first.count(-1), first.count(1)) >= _PROCESSES


_FEWEST = 5
"""Cycles of one state, of which the ratio is known."""


def turn_medians(latencies: np.ndarray, is_counted: np.ndarray) -> np.ndarray:
    """The median of each turn, in the unit of `latencies` [n]; runs between two turns, and at the
    beginning of each, do not count, boolean [n]."""
    edges = np.flatnonzero(np.diff(is_counted.astype(np.int8), prepend=0, append=0))
    turns = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return np.array([np.median(latencies[begin:end]) for begin, end in turns])


def ratio_in_turns(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The median over the cycles of one set of second over first, by the medians of their turns, 0
    in a cycle in which a side had none; None without a cycle that both had one in.

    One set gives one ratio: what its turns differ by is no measure of how far the ratio is off,
    which only other processes show.
    """
    a, b = _cycles(first, second)
    return _typical_ratio(a, b) if len(a) else None


def ratios_by_state(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]
) -> tuple[Sequence[float], Sequence[float]]:
    """The same ratios of the cycles in which the machine was undisturbed, and of those in which it
    was not, for all sets of a comparison; both are empty where it had one speed.

    Each side tells the state by its own levels (`levels.border`), a side that has one level does
    not. A cycle in which they disagree belongs to neither, and a set with few cycles of a state has
    no ratio of it.
    """
    cycles = [_cycles(a, b) for a, b in zip(first, second, strict=True)]
    limits = [border([both[side] for both in cycles]) for side in (0, 1)]
    undisturbed, disturbed = list[float](), list[float]()
    for both in cycles:
        sides = [turns < limit for turns, limit in zip(both, limits, strict=True) if limit]
        if sides:
            for ratios, is_state in (
                (undisturbed, np.all(sides, axis=0)),
                (disturbed, ~np.any(sides, axis=0)),
            ):
                if np.count_nonzero(is_state) >= _FEWEST:
                    ratios.append(_typical_ratio(both[0][is_state], both[1][is_state]))
    return undisturbed, disturbed


def _cycles(first: Sequence[float], second: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The medians of both sides' turns in the cycles in which both had one."""
    a, b = (np.array(turns[: min(len(first), len(second))], float) for turns in (first, second))
    has_both = (a > 0.0) & (b > 0.0)
    return a[has_both], b[has_both]


def _typical_ratio(a: np.ndarray, b: np.ndarray) -> float:
    return math.exp(float(np.median(np.log(b) - np.log(a))))
