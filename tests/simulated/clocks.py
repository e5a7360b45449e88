"""Rounds on a core whose clock moves, or that is shared, beside what was measured of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.pairing import Pair, RunVariations
from app.cases.case import Case
from app.cases.column import Value
from app.stats.core_state import CoreRound, at_typical_clock, undisturbed
from app.stats.intervals import interval_between, round_correlation, typical
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import RoundPairs, judge_rounds
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
ANY_WORK = {**WORK, "waits": WAITS, "half waits": HALF_WAITS}


class Counted(NamedTuple):
    """How many runs were told to follow the clock, or to share their core, and in how many the
    interval that is quoted held: of all, or of those that share it."""

    followed: int
    held: int


def _rounds(
    rng: np.random.Generator, clock: Clock, work: Work, lower: float = 0.0, more: float = 0.0
) -> list[CoreRound]:
    """Of one run, at a clock and of a work whose logarithms are so much lower and more."""
    course = clock(rng).reshape(ROUNDS, PERIOD)[:, :BLOCKS] - lower
    own = work.own * rng.standard_normal(ROUNDS) + 0.15 * (rng.random(ROUNDS) < work.slow)
    runs = more - work.slope * course + own[:, None] + 0.01 * rng.standard_normal(course.shape)
    measured_mhz = 4000.0 * np.exp(course + 0.0015 * rng.standard_normal(course.shape))
    return [
        CoreRound(25_000.0 * np.exp(logs), np.arange(BLOCKS), mhz, np.empty(0))
        for logs, mhz in zip(runs, measured_mhz, strict=True)
    ]


def apart(clock: Clock, work: Work, more: float, tries: int, seed: int) -> Counter[str]:
    """The verdicts of two runs, the second at a clock up to 12 % lower, with so much more work; of
    those that have a p50 in cycles both."""
    rng, row = np.random.default_rng(seed), dict[str, Value](host="", clock="wall")
    starts_s, comparisons = [18.0 * n for n in range(ROUNDS)], list[RoundPairs | None]()
    for _ in range(tries):
        lower = rng.uniform(0.0, 0.12)
        runs = _rounds(rng, clock, work), _rounds(rng, clock, work, lower, math.log1p(more))
        found = [at_typical_clock(rounds, starts_s) for rounds in runs]
        sides = [MeasuredCase(Case("net", "fake"), row, None, at_clock=one) for one in found]
        if all(found):
            pair = Pair("", *sides)
            comparisons.append(pair.rounds("p50", RunVariations(cpus={"": "one"}), False))
    return Counter(judge_rounds([one], 0.02)[0].word for one in comparisons)


def counted(clock: Clock, work: Work, tries: int, seed: int, rounds: int = ROUNDS) -> Counted:
    """The interval is of the p50 at the typical clock, of whichever is quoted."""
    rng = np.random.default_rng(seed)
    followed, held = 0, list[bool]()
    starts_s = [18.0 * n for n in range(rounds)]
    for _ in range(tries):
        seen = _rounds(rng, clock, work)[:rounds]
        found = at_typical_clock(seen, starts_s)
        followed += found is not None
        p50s = np.array([np.median(one.times) for one in seen])
        inflation = round_correlation(p50s, starts_s).inflation
        interval = (
            interval_between(p50s, CONFIDENCE, inflation) if found is None else found.interval
        )
        clock_mhz = typical(np.array([np.median(one.clocks_mhz) for one in seen]))
        truth = 25_000.0 * (clock_mhz / 4000.0) ** -work.slope
        held.append(interval is not None and interval.low <= truth <= interval.high)
    return Counted(followed, sum(held))


SHARED: dict[str, tuple[float, float]] = {
    "10 ms of 20": (0.01, 0.01),
    "50 ms of 200": (0.15, 0.05),
    "1 s of 3": (2.0, 1.0),
    "20 s of 30": (10.0, 20.0),
    "nine tenths, in spells of 0.1 s": (0.011, 0.1),
    "a tenth, in spells of 0.1 s": (0.9, 0.1),
}
"""How long a core is a guest's own and how long another one's thread is on it, at the mean."""
ALWAYS, NEVER = (1e-6, 1e6), (1e6, 1e-6)


def shared(spells_s: tuple[float, float], tries: int, seed: int) -> Counted:
    """Of rounds of 60 turns of 5 ms, one every 25 ms, with a run each millisecond: how many were
    found to share their core, and in how many the interval held what a run alone takes."""
    rng = np.random.default_rng(seed)
    held = list[bool]()
    for _ in range(tries):
        state = int(rng.random() < spells_s[1] / sum(spells_s))
        factor, rounds = rng.uniform(1.15, 1.8), list[CoreRound]()
        for _ in range(ROUNDS):
            lengths = rng.exponential(spells_s, (1 + int(3.0 / sum(spells_s)), 2)).ravel()
            ends_ms = np.cumsum(1e3 * np.roll(lengths, state))
            starts_ms = 25.0 * np.arange(60)
            places = starts_ms[:, None] + np.arange(6)
            is_shared = (np.searchsorted(ends_ms, places) + state) % 2 == 1
            state = int(rng.random() < spells_s[1] / sum(spells_s))
            alone = 4.0 * (1.0 + 0.01 * rng.standard_normal(places.shape))
            widths = np.where(is_shared, rng.uniform(1.6, 3.4, places.shape), alone)
            logs = 0.01 * rng.standard_normal((60, 5)) + 0.005 * rng.standard_normal()
            logs += math.log(factor) * is_shared[:, :5]
            blocks = np.repeat(np.arange(60), 5)
            least = np.minimum(widths[:, 0], widths[:, 5])
            times = 25_000.0 * np.exp(logs).ravel()
            rounds.append(CoreRound(times, blocks, np.full(60, 4000.0), least))
        found = undisturbed(rounds, [18.0 * n for n in range(ROUNDS)])
        if found is not None and found.interval is not None:
            held.append(found.interval.low <= 25_000.0 <= found.interval.high)
    return Counted(len(held), sum(held))
