"""Ratios of processes that took turns: each cycle's turns saw one state of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.stats.levels import border

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
