"""The p50 of runs that had their core for themselves, and the p50 at one clock, from what was
measured of the core as blocks of runs began and ended.

A core of two hardware threads begins half as many operations in a cycle for one while the other
works; on a rented machine the other is another guest's. So the operations in a cycle tell blocks
that had the core from those that shared it, however long a run is.

A core's clock follows how much power and heat the whole processor has left, and so what its other
cores do: it moves by some per cent for seconds to minutes, and differs from round to round. Work
that computes takes a fixed number of cycles whatever the clock is. So where the rounds of a case
agree far better in cycles than in time, its p50 is the typical number of cycles at the clock that
was typical of them. What follows the clock only in part is not wrong by that: some of the rounds
were above that clock and some below, and what they then differ by is in the interval.
"""

from __future__ import annotations

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
_FEWEST = 3
"""Rounds of which the spread is known."""
_STEADIER = 0.7
"""Rounds that differ by so much less in cycles, half of the variance, follow the clock: of eight
that do not, one in forty looks so."""
_ALIKE = 0.01
"""Speeds that differ by less are one."""


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
    own, starts_s = _alone(rounds, is_whole, starts_s)
    p50s = np.array([np.median(one.times) for one in own])
    rest = [one.only(~whole).times for one, whole in zip(rounds, is_whole, strict=True)]
    if not len(p50s) or p50s.min() <= 0.0 or not any(map(len, rest)):
        return None
    p50 = typical(p50s)
    factor = float(np.median(np.concatenate(rest))) / p50
    if factor < 1.0 + _ALIKE:
        return None
    return Speeds(
        p50,
        interval_between(p50s, confidence, round_correlation(p50s, starts_s).inflation),
        float(np.concatenate(is_whole).mean()),
        factor,
        sum(whole.mean() >= SHARE for whole in is_whole) >= 2,
    )


@dataclass(frozen=True, slots=True)
class TypicalClock:
    """The clock that was typical of the rounds, and the p50 at it, also that of each round."""

    clock_mhz: float
    p50: float
    interval: Interval | None
    by_round: tuple[float, ...]


def at_typical_clock(
    rounds: Sequence[CoreRound], starts_s: Sequence[float] = (), confidence: float = CONFIDENCE
) -> TypicalClock | None:
    """Of the runs that had the core for themselves, where it was shared. None where the rounds do
    not agree better in cycles."""
    is_whole = unshared([one.widths for one in rounds])
    if is_whole is not None:
        rounds, starts_s = _alone(rounds, is_whole, starts_s)
    if len(rounds) < _FEWEST or not all(one.has_figure for one in rounds):
        return None
    clocks = np.concatenate([one.clocks_mhz for one in rounds])
    p50s = np.array([np.median(one.times) for one in rounds])
    if not np.all((clocks > 0.0) & np.isfinite(clocks)) or p50s.min() <= 0.0:
        return None
    clock_mhz = typical(np.array([np.median(one.clocks_mhz) for one in rounds]))
    cycles = np.array([np.median(one.times * one.clocks_mhz[one.blocks]) for one in rounds])
    if deviation(np.log(cycles)) > _STEADIER * deviation(np.log(p50s)):
        return None
    own = cycles / clock_mhz
    interval = interval_between(own, confidence, round_correlation(own, starts_s).inflation)
    return TypicalClock(clock_mhz, typical(own), interval, tuple(own.tolist()))


def _alone(
    rounds: Sequence[CoreRound], is_whole: Sequence[np.ndarray], starts_s: Sequence[float]
) -> tuple[list[CoreRound], list[float]]:
    """The runs of these blocks, and when their rounds began. A round has none where they are less
    than 5 % of its time: the other thread may have worked between the two readings of a few."""
    kept = [
        one.only(whole & (whole.mean() >= SHARE))
        for one, whole in zip(rounds, is_whole, strict=True)
    ]
    starts_s = [s for s, one in zip(starts_s, kept, strict=False) if one.has_figure]
    return [one for one in kept if one.has_figure], starts_s


def _highest(rounds: Sequence[np.ndarray]) -> float:
    """What two rounds reached for 5 % of their time."""
    return float(np.sort([np.quantile(values, 1.0 - SHARE) for values in rounds])[-2])
