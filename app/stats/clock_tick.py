"""The tick of the clock that timed a round, read off its samples, and what it leaves unknown.

A clock that counts in steps of t shows a duration as one of the two multiples of t around it. Where
latencies are only a few ticks long, all rounds may show the same value, so that their spread says
nothing of how far the truth may lie from it: up to one tick to either side.
"""

from __future__ import annotations

import math

import numpy as np

_REPEATED = 0.5
"""The share of samples that have an equal, from which on the clock limits what is known."""
_OFF = 0.1
"""The share of a divisor by which a multiple of it may be off: latencies are rounded."""
_FEW = 0.1
"""A tick below this share of a latency needs not to divide it."""


def clock_tick(ascending: np.ndarray) -> float:
    """The largest step of which latencies that occur repeatedly are multiples, in their unit.

    0 where most latencies occur once: the clock is finer than the noise. Where all are equal the
    tick may be as large as the latency itself.
    """
    if len(ascending) < 2:
        return 0.0
    is_larger = ascending[1:] > ascending[:-1]
    equal_pairs = len(is_larger) - int(np.count_nonzero(is_larger))
    if 2 * equal_pairs < _REPEATED * len(ascending):  # a pair is of two samples at most
        return 0.0
    starts = np.append(0, is_larger.nonzero()[0] + 1)
    counts = np.append(starts[1:], len(ascending)) - starts
    repeated = counts > 1
    if counts[repeated].sum() < _REPEATED * len(ascending):
        return 0.0
    values = ascending[starts[repeated]]
    tick = 0.0
    for step in np.unique(np.diff(values)).tolist():
        tick = _common_divisor(tick, step)
    fastest = float(values[0])
    # Of a latency of many ticks, the rounding of each adds up to more than a tick.
    return tick if 0.0 < tick < _FEW * fastest else _common_divisor(fastest, tick)


def _common_divisor(larger: float, smaller: float) -> float:
    """Euclid's, of measured numbers: what is left over may be off by a part of the divisor."""
    larger, smaller = max(larger, smaller), min(larger, smaller)
    while smaller > 0.0:
        left = larger % smaller
        if min(left, smaller - left) <= _OFF * smaller:
            return smaller
        larger, smaller = smaller, left
    return larger


def ratio_resolution(first: float, first_tick: float, second: float, second_tick: float) -> float:
    """How far the logarithm of second over first may be off because of the clocks' ticks.

    Readings of equal durations on one clock differ by one tick at most, on two clocks by one tick
    of each.
    """
    shares = first_tick / first, second_tick / second
    one_clock = math.isclose(first_tick, second_tick, rel_tol=1e-6)
    return max(shares) if one_clock else sum(shares)
