"""Latencies of one round as machines give them: of one level, of two, and with stalls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.simulated.machines import autoregressive

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""So many latencies in microseconds, in order of time."""


def _wandering(coefficient: float, sigma: float) -> Draw:
    """An autoregressive process of first order, on the logarithm."""
    return lambda rng, runs: (
        25.0 * np.exp(sigma * autoregressive(rng.standard_normal(runs), coefficient))
    )


def _lognormal(sigma: float) -> Draw:
    return lambda rng, runs: 25.0 * np.exp(sigma * rng.standard_normal(runs))


def _spiked_runs(rng: np.random.Generator, runs: int) -> np.ndarray:
    latency = _lognormal(0.02)(rng, runs)
    slow = rng.random(runs) < 0.02
    latency[slow] += rng.exponential(500.0, slow.sum())
    return latency


def _stepped_runs(rng: np.random.Generator, runs: int) -> np.ndarray:
    """One change of level, somewhere: a drift and no second mode."""
    latency = _lognormal(0.02)(rng, runs)
    latency[rng.integers(runs // 4, 3 * runs // 4) :] *= 1.3
    return latency


def _ticking(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A clock of 100 ns that times a microsecond: few values, each many times."""
    return np.round(np.exp(0.05 * rng.standard_normal(runs)), 1)


ONE_LEVEL: dict[str, Draw] = {
    "normal": lambda rng, runs: rng.normal(25.0, 0.5, runs),
    "uniform": lambda rng, runs: rng.uniform(20.0, 30.0, runs),
    "lognormal 5 %": _lognormal(0.05),
    "lognormal 50 %": _lognormal(0.5),
    "exponential above a floor": lambda rng, runs: 20.0 + rng.exponential(5.0, runs),
    "heavy tail": lambda rng, runs: 20.0 * (1.0 + rng.pareto(3.0, runs)),
    "autoregressive 0.9": _wandering(0.9, 0.1),
    "autoregressive 0.99": _wandering(0.99, 0.1),
    "autoregressive 0.999": _wandering(0.999, 0.2),
    "rare spikes": _spiked_runs,
    "one step": _stepped_runs,
    "coarse clock": _ticking,
}


def two_levels(ratio: float, share: float, sigma: float, spell: int = 1) -> Draw:
    """`share` of the runs take `ratio` times as long, in spells of so many runs at the mean."""

    def draw(rng: np.random.Generator, runs: int) -> np.ndarray:
        spells = rng.random(runs) < share
        upper = np.repeat(spells, rng.geometric(1.0 / spell, runs))[:runs]
        return np.where(upper, 25.0 * ratio, 25.0) * np.exp(sigma * rng.standard_normal(runs))

    return draw


TWO_LEVELS: dict[str, Draw] = {
    "1.36 times, even, 5 %": two_levels(1.36, 0.5, 0.05),
    "1.36 times, one in five, 5 %": two_levels(1.36, 0.2, 0.05),
    "1.36 times, spells of 50": two_levels(1.36, 0.4, 0.05, 50),
    "1.15 times, even, 2 %": two_levels(1.15, 0.5, 0.02),
    "3 times, one in seven, 20 %": two_levels(3.0, 0.15, 0.2),
}


def back_to_back(latency_us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When the runs of a closed loop begin and end [n], in nanoseconds."""
    finish_ns = np.cumsum(latency_us * 1e3)
    return finish_ns - latency_us * 1e3, finish_ns


def with_stalls(
    rng: np.random.Generator, latency_us: np.ndarray, stall_us: float, period_us: float
) -> np.ndarray:
    """The same with whichever run is at work at each beat stalled for so long, give or take 10 %.

    The beat is the machine's own, and goes on while a run is stalled.
    """
    stalled_us = latency_us.copy()
    now, beat = 0.0, rng.uniform(0.0, period_us)
    for place, latency in enumerate(latency_us.tolist()):
        if now + latency >= beat:
            stalled_us[place] += stall_us * rng.uniform(0.9, 1.1)
            while beat <= now + stalled_us[place]:
                beat += period_us
        now += stalled_us[place]
    return stalled_us
