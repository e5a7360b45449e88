"""How often runs of cases compared with themselves have a wrong verdict, counted over runs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from app.stats.quantiles import ratio_resolution
from app.stats.verdict import Difference, difference, judge, with_minimum_spread
from tests.simulated.machines import fractional_noise, log_normal_levels, modes

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
"""The rounds' own figures of so many cases with so many rounds [cases, rounds], in microseconds."""


@dataclass(frozen=True, slots=True)
class Processes:
    """What processes of a case differ by; `tick_us` is that of the clock, 0 for a fine one."""

    name: str
    figures: Draw
    tick_us: float = 0.0


def _levels(draw: Callable[[np.random.Generator, int], np.ndarray]) -> Draw:
    return lambda rng, shape: 100.0 * draw(rng, shape[0] * shape[1]).reshape(shape)


def _ticks(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """The p50 of 1.2 us with a clock of 100 ns: one multiple of the tick or its neighbour."""
    true = 1.2 * np.exp(0.02 * rng.standard_normal(shape))
    ticks: np.ndarray = np.round(true / 0.1) * 0.1
    return ticks


PROCESSES: tuple[Processes, ...] = (
    Processes("normal 3 %", _levels(log_normal_levels(0.03))),
    Processes("skewed 3 %", lambda rng, shape: 100.0 * np.exp(0.03 * rng.exponential(size=shape))),
    Processes("t, 2", lambda rng, shape: 100.0 * np.exp(0.02 * rng.standard_t(2, shape))),
    Processes("NUMA, 8 and 20 %", _levels(modes((1.0, 1.08, 1.2), (0.5, 0.3, 0.2), 0.005))),
    Processes("NUMA, 30 and 70 %", _levels(modes((1.0, 1.3, 1.7), (0.4, 0.3, 0.3), 0.01))),
    Processes("two sockets, 30 %", _levels(modes((1.0, 1.3), (0.5, 0.5), 0.002))),
    Processes("1 in 20 is 3x", _levels(modes((1.0, 3.0), (0.95, 0.05), 0.025))),
    Processes("100 ns on 1.2 us", _ticks, 0.1),
)


def _wandering(link: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]) -> Draw:
    """Rounds that spread by 3 %, each case linked to its neighbours in its own way."""
    return lambda rng, shape: 100.0 * np.exp(0.03 * link(rng, shape))


def _neighbours(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    noise = rng.standard_normal((shape[0], shape[1] + 60))
    linked: np.ndarray = lfilter([0.8], [1.0, -0.6], noise)[:, 60:]
    return linked


def _long_memory(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return np.array([fractional_noise(rng, shape[1], 0.75) for _ in range(shape[0])])


def _of_three(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    noise = rng.standard_normal((shape[0], shape[1] + 2))
    return (noise[:, :-2] + noise[:, 1:-1] + noise[:, 2:]) / math.sqrt(3.0)


def _two_states(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """One of two levels, left with one round in five."""
    moves = rng.random(shape) < 0.2
    moves[:, 0] = rng.random(shape[0]) < 0.5
    return 2.0 * (np.cumsum(moves, axis=1) % 2) - 1.0 + 0.2 * rng.standard_normal(shape)


WANDERING: tuple[Processes, ...] = (
    Processes("AR 0.6", _wandering(_neighbours)),
    Processes("long memory, H 0.75", _wandering(_long_memory)),
    Processes("means of three", _wandering(_of_three)),
    Processes("two states", _wandering(_two_states)),
)
"""Each side wanders by itself, so that the ratio does too. The last three played no part in
choosing the method."""


def wrong_runs(processes: Processes, cases: int, rounds: int, runs: int) -> int:
    """Of so many runs, those in which some case was called faster or slower than itself."""
    rng = np.random.default_rng(zlib.crc32(f"{processes.name} {cases} {rounds}".encode()))
    wrong = 0
    for _ in range(runs):
        sides = processes.figures(rng, (cases, rounds)), processes.figures(rng, (cases, rounds))
        differences = [_difference(*pair, processes.tick_us) for pair in zip(*sides, strict=True)]
        verdicts = judge(with_minimum_spread(differences, ["p50"] * cases))
        wrong += any(verdict.word in ("faster", "slower") for verdict in verdicts)
    return wrong


def _difference(first: np.ndarray, second: np.ndarray, tick: float) -> Difference | None:
    typical = [math.exp(np.log(side).mean()) for side in (first, second)]
    resolution = ratio_resolution(typical[0], tick, typical[1], tick) if tick else 0.0
    return difference(first.tolist(), second.tolist(), in_turn=True, resolution=resolution)
