"""The p50 of runs that had their core for themselves, and the p50 at its full clock, from what was
measured of the core as blocks of runs began and ended.

A core of two hardware threads begins half as many operations in a cycle for one while the other
works; on a rented machine the other is another guest's. So the operations in a cycle tell blocks
that had the core from those that shared it, however long a run is.

A core's clock follows how much power and heat the whole processor has left, and so what its other
cores do: it moves by some per cent for seconds to minutes. Work that computes takes a fixed number
of cycles whatever the clock is. So where the rounds of a case agree far better in cycles than in
time, its p50 is that number of cycles, and how long they take at the highest clock that was met is
comparable to another run's. What waits for memory does not follow the clock. Such rounds do not
agree better in cycles, or the number of cycles grows with the clock; the interval allows for some
of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.cases.telemetry import UNSHARED
from app.stats.intervals import deviation, interval_between, round_correlation, typical
from app.stats.levels import SHARE, Speeds
from app.stats.quantiles import CONFIDENCE, Interval

_RARE = 0.8
"""Between this part of the most operations in a cycle and `UNSHARED` there is hardly anything: else
the core was never alone, and how much was left to it varied."""
_FEWEST = 6
"""Rounds of which the spread is known."""
_STEADIER = 0.7
"""Rounds that differ by so much less in cycles, half of the variance, follow the clock: of eight
that do not, one in forty looks so."""
_ALIKE = 0.01
"""Speeds that differ by less are one."""
_SLOPE = 0.2
"""With 95 % the time changes by so much more or less than the clock, as parts of its change."""


@dataclass(frozen=True, slots=True)
class CoreRound:
    """The runs of a round: what each took and the number of its block, both [runs], and of each
    block the core's clock and its operations in a cycle, both [blocks]; `widths` is empty where
    other cores computed too."""

    times: np.ndarray
    blocks: np.ndarray
    clocks_mhz: np.ndarray
    widths: np.ndarray

    def only(self, is_kept: np.ndarray) -> CoreRound:
        """The runs of these blocks [blocks]."""
        runs = is_kept[self.blocks]
        clocks_mhz, widths = self.clocks_mhz[is_kept], self.widths[is_kept]
        places = np.cumsum(is_kept) - 1
        return CoreRound(self.times[runs], places[self.blocks[runs]], clocks_mhz, widths)

    @property
    def has_figure(self) -> bool:
        return len(self.times) > 0


def unshared(widths: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Which blocks of each round had the core for themselves, by their operations in a cycle; None
    where it was shared for less than 5 % of the time or always, or a round has no readings."""
    if len(widths) < 2 or not all(len(own) and np.all(own > 0.0) for own in widths):
        return None
    whole = _highest(widths)
    is_whole = [own > UNSHARED * whole for own in widths]
    alone = np.count_nonzero(np.concatenate(is_whole))
    every = np.concatenate(widths)
    between = np.count_nonzero(every > _RARE * whole) - alone
    return is_whole if alone <= (1.0 - SHARE) * len(every) and 2 * between <= alone else None


def undisturbed(
    rounds: Sequence[CoreRound], starts_s: Sequence[float] = (), confidence: float = CONFIDENCE
) -> Speeds | None:
    """Of runs that had the core for themselves; None where it was not shared, or that made no
    difference. `starts_s` are when rounds began, where all are known."""
    is_whole = unshared([one.widths for one in rounds])
    if is_whole is None:
        return None
    own = [_often(one, whole) for one, whole in zip(rounds, is_whole, strict=True)]
    p50s = np.array([np.median(one.times) for one in own if one.has_figure])
    rest = [one.only(~whole).times for one, whole in zip(rounds, is_whole, strict=True)]
    if not len(p50s) or p50s.min() <= 0.0 or not any(map(len, rest)):
        return None
    p50 = typical(p50s)
    factor = float(np.median(np.concatenate(rest))) / p50
    if factor < 1.0 + _ALIKE:
        return None
    starts_s = [s for s, one in zip(starts_s, own, strict=False) if one.has_figure]
    return Speeds(
        p50,
        interval_between(p50s, confidence, round_correlation(p50s, starts_s).inflation),
        float(np.concatenate(is_whole).mean()),
        factor,
        sum(whole.mean() >= SHARE for whole in is_whole) >= 2,
    )


@dataclass(frozen=True, slots=True)
class FullClock:
    """The highest clock that two rounds had for 5 % of their time, and the p50 at it."""

    clock_mhz: float
    p50: float
    interval: Interval | None


def at_full_clock(
    rounds: Sequence[CoreRound], starts_s: Sequence[float] = (), confidence: float = CONFIDENCE
) -> FullClock | None:
    """Of the runs that had the core for themselves, where it was shared. None where the clock
    hardly moved, or the p50 did not follow it."""
    is_whole = unshared([one.widths for one in rounds])
    if is_whole is not None:
        kept = [_often(one, whole) for one, whole in zip(rounds, is_whole, strict=True)]
        starts_s = [s for s, one in zip(starts_s, kept, strict=False) if one.has_figure]
        rounds = [one for one in kept if one.has_figure]
    if len(rounds) < _FEWEST or not all(one.has_figure for one in rounds):
        return None
    clocks = np.concatenate([one.clocks_mhz for one in rounds])
    p50s = np.array([np.median(one.times) for one in rounds])
    if not np.all((clocks > 0.0) & np.isfinite(clocks)) or p50s.min() <= 0.0:
        return None
    full_mhz = _highest([one.clocks_mhz for one in rounds])
    gap = math.log(full_mhz / float(np.median(clocks)))
    if gap < _ALIKE:
        return None
    own = np.array([np.median(one.times * one.clocks_mhz[one.blocks]) for one in rounds]) / full_mhz
    if deviation(np.log(own)) > _STEADIER * deviation(np.log(p50s)):
        return None
    p50, margin = typical(own), _SLOPE * gap
    interval = interval_between(own, confidence, round_correlation(own, starts_s).inflation)
    if interval is not None:
        below, above = math.log(p50 / interval.low), math.log(interval.high / p50)
        interval = Interval(
            p50 * math.exp(-math.hypot(below, margin)), p50 * math.exp(math.hypot(above, margin))
        )
    return FullClock(full_mhz, p50, interval)


def _often(one: CoreRound, is_kept: np.ndarray) -> CoreRound:
    """The runs of these blocks; none where they are less than 5 % of the time: the other thread may
    have worked between the two readings of a few."""
    return one.only(is_kept & (is_kept.mean() >= SHARE))


def _highest(rounds: Sequence[np.ndarray]) -> float:
    """What two rounds reached for 5 % of their time."""
    return float(np.sort([np.quantile(values, 1.0 - SHARE) for values in rounds])[-2])
