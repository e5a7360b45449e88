"""Whether the runs of a round jump between two levels: a pure function of their latencies.

Strips of the sorted latencies that hold equally many runs are narrow where runs crowd. Two levels
are two crowds with a wide strip between them, among which the runs went to and fro.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.clock_tick import clock_tick
from app.stats.quantiles import order_statistic

_MOST_STRIPS = 40
_LEAST_RUNS = 50
"""In a strip: its width is then known within some 14 %."""
_LEAST_STRIPS = 10
_DEPTH = 3.0
"""So many times sparser than the lesser crowd are the runs between two."""
_LEAST_SHARE = 0.1
_APART = 1.1
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
    strips = min(_MOST_STRIPS, len(ascending) // _LEAST_RUNS)
    if strips < _LEAST_STRIPS or ascending[0] <= 0.0:
        return None
    ranks = np.linspace(0, len(ascending) - 1, strips + 1).round().astype(int)
    edges = ascending[ranks].astype(float)
    widths = np.maximum(np.diff(np.log(edges)), _floor(ascending))
    left, right = np.minimum.accumulate(widths), np.minimum.accumulate(widths[::-1])[::-1]
    edge = math.ceil(_LEAST_SHARE * strips)
    inner = np.arange(edge, strips - edge)
    depths = widths[inner] / np.maximum(left[inner - 1], right[inner + 1])
    valley = int(inner[np.argmax(depths)])
    low = int(np.argmin(widths[:valley]))
    high = valley + 1 + int(np.argmin(widths[valley + 1 :]))
    if depths.max() < _DEPTH or _passages(in_time, edges[low + 1], edges[high]) < _PASSAGES:
        return None
    border = math.sqrt(edges[valley] * edges[valley + 1])
    below = int(np.searchsorted(ascending, border))
    levels = [order_statistic(part, 0.5) for part in (ascending[:below], ascending[below:])]
    if levels[1] < _APART * levels[0]:
        return None
    return Modes(levels[0], levels[1], 1.0 - below / len(ascending))


def of_rounds(rounds: Sequence[Modes | None]) -> Modes | None:
    """What more than half of the rounds agree on: the medians of their levels and shares."""
    known = [one for one in rounds if one is not None]
    if 2 * len(known) <= len(rounds):
        return None
    low, high = (float(np.median([getattr(m, name) for m in known])) for name in ("low", "high"))
    near = [m for m in known if _near(m.low, low) and _near(m.high, high)]
    if 2 * len(near) <= len(rounds):
        return None
    return Modes(low, high, float(np.median([m.high_share for m in near])))


def _near(level: float, other: float) -> bool:
    return max(level, other) < _ROUNDS_ALIKE * min(level, other)


def _floor(ascending: np.ndarray) -> float:
    """No strip is known to be narrower than a tick of the clock that timed it."""
    return max(_NARROWEST, clock_tick(ascending) / float(ascending[0]))


def _passages(in_time: np.ndarray, low: float, high: float) -> int:
    """How often the runs went from at most `low` to at least `high`, or back."""
    sides = (in_time >= high).astype(np.int8) - (in_time <= low)
    return int(np.count_nonzero(np.diff(sides[sides != 0])))
