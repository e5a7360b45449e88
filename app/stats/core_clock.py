"""The p50 at the full clock of a core, from rounds whose clock was measured.

A core's clock follows how much power and heat the whole processor has left, and so what its other
cores do: it moves by some per cent for seconds to minutes. Work that computes takes a fixed number
of cycles whatever the clock is. So where the rounds of a case agree far better in cycles than in
time, its p50 is that number of cycles, and how long they take at the highest clock that was met is
comparable to another run's.

What waits for memory does not follow the clock. Such rounds do not agree better in cycles, or the
number of cycles grows with the clock; the interval allows for some of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.stats.intervals import deviation, interval_between, round_correlation, typical
from app.stats.levels import Speeds
from app.stats.quantiles import CONFIDENCE, Interval

_RARE = 1
"""Beyond this place from either end of a clock's quantiles it was for 5 % of the time."""
_FEWEST = 6
"""Rounds of which the spread is known."""
_STEADIER = 0.7
"""Rounds that differ by so much less in cycles, half of the variance, follow the clock: of eight
that do not, one in forty looks so."""
_ALIKE = 0.01
"""Clocks that differ by less are one."""
_SLOPE = 0.2
"""With 95 % the time changes by so much more or less than the clock, as parts of its change."""


def at_full_clock(
    p50s: Sequence[float],
    clocks_mhz: Sequence[Sequence[float]],
    starts_s: Sequence[float] = (),
    confidence: float = CONFIDENCE,
) -> Speeds | None:
    """From each round's p50, the `CLOCK_QUANTILES` of its clock, and when it began, if all are
    known.

    The full clock is the highest at which two rounds spent 5 % of their time. None where the clock
    hardly moved, or the p50 did not follow it.
    """
    if len(p50s) < _FEWEST or min(p50s) <= 0.0 or len({*map(len, clocks_mhz)}) > 1:
        return None
    clocks = np.array(clocks_mhz)
    if not clocks.size or not np.all((clocks > 0.0) & np.isfinite(clocks)):
        return None
    full_mhz = float(np.sort(clocks[:, -1 - _RARE])[-2])
    gap = math.log(full_mhz / float(np.median(clocks)))
    if gap < _ALIKE:
        return None
    own = np.array(p50s) * clocks[:, clocks.shape[1] // 2] / full_mhz
    if deviation(np.log(own)) > _STEADIER * deviation(np.log(p50s)):
        return None
    p50, margin = typical(own), _SLOPE * gap
    interval = interval_between(own, confidence, round_correlation(own, starts_s).inflation)
    if interval is not None:
        below, above = math.log(p50 / interval.low), math.log(interval.high / p50)
        interval = Interval(
            p50 * math.exp(-math.hypot(below, margin)), p50 * math.exp(math.hypot(above, margin))
        )
    is_full = clocks > full_mhz * math.exp(-_ALIKE)
    factor = full_mhz / float(np.median(clocks[~is_full]))
    return Speeds(p50, interval, float(is_full.mean()), factor, True, full_mhz)
