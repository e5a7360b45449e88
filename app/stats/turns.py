"""Ratios of processes that took turns: each cycle's turns saw one state of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


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
    a, b = (np.array(turns[: min(len(first), len(second))], float) for turns in (first, second))
    both = (a > 0.0) & (b > 0.0)
    if not both.any():
        return None
    return math.exp(float(np.median(np.log(b[both]) - np.log(a[both]))))
