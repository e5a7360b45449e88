"""Interleaved pairs of two sides, and what their ratios say."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from app.stats.quantiles import rank_interval

PAIRS = int(os.environ.get("GRAPHLAP_PAIRS", "0"))
"""How many pairs the user wants, 0 for each benchmark's own number."""


def interleaved(pairs: int, *sides: Callable[[], float]) -> tuple[list[float], ...]:
    """What each side gave in each pair; which side goes first moves on from pair to pair."""
    durations: tuple[list[float], ...] = tuple([] for _ in sides)
    for pair in range(pairs):
        for place in range(len(sides)):
            index = (pair + place) % len(sides)
            durations[index].append(sides[index]())
    return durations


def ratio_text(numerator: Sequence[float], denominator: Sequence[float]) -> str:
    """The median of the pairs' ratios, its exact 95 % interval, and the extreme pairs."""
    ratios = np.sort(np.divide(numerator, denominator))
    ranks = rank_interval(len(ratios), 0.5)
    bounds = [f"{ratios[rank - 1]:.3f}" for rank in ranks or ()]
    interval = " to ".join(bounds) or "too few pairs"
    middle = statistics.median(ratios.tolist())
    return f"x{middle:.3f} ({interval}; pairs {ratios[0]:.3f} to {ratios[-1]:.3f})"
