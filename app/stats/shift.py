"""Two cases quantile by quantile: by how much each part of the distribution has moved.

From the rounds' own quantiles, as a verdict is: rounds are processes, and they are what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.quantiles import CONFIDENCE, Interval, needed_samples
from app.stats.verdict import difference, interval_of

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Shift:
    """At one quantile: the latency of the second case in the unit of its rounds, second over
    first, and the 95 % interval of that; None with fewer than three rounds to compare."""

    quantile: float
    at: float
    ratio: float
    interval: Interval | None


def round_quantiles(samples: np.ndarray, quantiles: Sequence[float] = QUANTILES) -> np.ndarray:
    """The order statistics [quantiles] of one round; NaN where its samples can't bound one."""
    count = len(samples)
    ranks = [max(1, math.ceil(q * count - 1e-9)) - 1 for q in quantiles]
    if not count:
        return np.full(len(quantiles), np.nan)
    parted = np.partition(samples, sorted(set(ranks)))
    told = [count >= needed_samples(q) for q in quantiles]
    values: np.ndarray = np.where(told, parted[ranks], np.nan)
    return values


def shifts(
    first: Mapping[int, np.ndarray],
    second: Mapping[int, np.ndarray],
    in_turn: bool,
    quantiles: Sequence[float] = QUANTILES,
) -> list[Shift]:
    """Of rounds' quantiles by the rounds' numbers; those that no round of a side bounds are left
    out.

    In turn, rounds of one number are a pair: both saw the same machine.
    """
    both = [number for number in first if number in second]
    sides = (
        [[side[number] for number in both] for side in (first, second)]
        if in_turn
        else [list(side.values()) for side in (first, second)]
    )
    if not all(sides):
        return []
    a, b = (np.log(np.maximum(np.array(side), np.finfo(float).tiny)) for side in sides)
    found = []
    for place, quantile in enumerate(quantiles):
        one, other = a[:, place], b[:, place]
        if in_turn:
            known = ~(np.isnan(one) | np.isnan(other))
            one, other = one[known], other[known]
        else:
            one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        if len(one) and len(other):
            found.append(_shift(quantile, np.exp(one), np.exp(other), in_turn))
    return found


def _shift(quantile: float, first: np.ndarray, second: np.ndarray, in_turn: bool) -> Shift:
    found = difference(first.tolist(), second.tolist(), in_turn)
    at = float(np.exp(np.log(second).mean()))
    ratio = at / float(np.exp(np.log(first).mean()))
    return Shift(quantile, at, ratio, None if found is None else interval_of(found, CONFIDENCE))
