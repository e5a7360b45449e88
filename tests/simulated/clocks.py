"""Rounds on a core whose clock moves: what each round's p50 was, beside the clock it saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.cases.telemetry import CLOCK_QUANTILES
from app.stats.core_clock import at_full_clock
from tests.simulated.machines import autoregressive

ROUNDS, BLOCKS, PERIOD = 8, 100, 180
"""A round sees the clock of 100 blocks of 0.1 s; the next begins 18 s after it did."""
Clock = Callable[[np.random.Generator], np.ndarray]
"""The logarithm of the clock over one run, [ROUNDS * PERIOD], 0 is 4 GHz."""


def _spells(levels: tuple[float, ...], seconds: tuple[float, ...], noise: float = 0.003) -> Clock:
    """Each level for so long at the mean, one after the other."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        level, places = int(rng.integers(len(levels))), list[int]()
        while len(places) < ROUNDS * PERIOD:
            places += [level] * (1 + int(rng.exponential(10.0 * seconds[level])))
            level = (level + 1) % len(levels)
        steps = np.log(np.array(levels))[places[: ROUNDS * PERIOD]]
        return steps + noise * rng.standard_normal(len(steps))

    return draw


def _wander(spread: float, correlation: float) -> Clock:
    return lambda rng: spread * autoregressive(rng.standard_normal(ROUNDS * PERIOD), correlation)


def _heating(rng: np.random.Generator) -> np.ndarray:
    """Lower and lower, in steps of 25 MHz."""
    falling = -0.05 * np.linspace(0.0, 1.0, ROUNDS * PERIOD) * rng.uniform(0.5, 1.0)
    return np.round(falling * 160.0) / 160.0 + 0.001 * rng.standard_normal(len(falling))


CLOCKS: dict[str, Clock] = {
    "boost for 8 s of 48": _spells((1.0, 0.956), (8.0, 40.0)),
    "boost for 40 s of 100": _spells((1.0, 0.956), (40.0, 60.0)),
    "three levels": _spells((1.0, 0.97, 0.94), (15.0, 20.0, 30.0)),
    "every 3 s another": _spells((1.0, 0.95), (3.0, 3.0)),
    "wanders": _wander(0.02, 0.998),
    "wanders fast": _wander(0.02, 0.98),
    "heats up": _heating,
}
STEADY = _wander(0.001, 0.9)


@dataclass(frozen=True, slots=True)
class Work:
    """By how much of the clock's change the time changes, what processes differ by, and the share
    of them that are 15 % slower throughout."""

    slope: float
    own: float
    slow: float = 0.0


WORK: dict[str, Work] = {
    "computes": Work(1.0, 0.005),
    "computes, processes differ by 1 %": Work(1.0, 0.01),
    "computes, one process in ten slow": Work(1.0, 0.005, 0.1),
    "waits a little": Work(0.85, 0.005),
    "is disturbed with the clock": Work(1.15, 0.005),
}
WAITS, HALF_WAITS = Work(0.0, 0.01), Work(0.5, 0.01)


class Counted(NamedTuple):
    """How many runs followed the clock, and in how many of these the interval held the p50 at the
    clock it is of."""

    followed: int
    held: int


def counted(clock: Clock, work: Work, tries: int, seed: int) -> Counted:
    rng = np.random.default_rng(seed)
    held = list[bool]()
    for _ in range(tries):
        course = clock(rng).reshape(ROUNDS, PERIOD)[:, :BLOCKS]
        own = work.own * rng.standard_normal(ROUNDS) + 0.15 * (rng.random(ROUNDS) < work.slow)
        runs = -work.slope * course + own[:, None] + 0.01 * rng.standard_normal(course.shape)
        p50s = 25_000.0 * np.exp(np.median(runs, axis=1))
        measured_mhz = 4000.0 * np.exp(course + 0.0015 * rng.standard_normal(course.shape))
        clocks_mhz = np.quantile(measured_mhz, CLOCK_QUANTILES, axis=1).T.tolist()
        found = at_full_clock(p50s.tolist(), clocks_mhz, [18.0 * n for n in range(ROUNDS)])
        if found is None or found.interval is None or found.clock_mhz is None:
            continue
        truth = 25_000.0 * (found.clock_mhz / 4000.0) ** -work.slope
        held.append(found.interval.low <= truth <= found.interval.high)
    return Counted(len(held), sum(held))
