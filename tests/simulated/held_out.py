"""Four further kinds of machines, which were only counted once the method was fixed."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from tests.simulated.machines import Machine, autoregressive, log_normal_levels, modes


def _warming(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """Caches and tables fill during the first part of a round; log-logistic noise."""
    share = rng.random(runs)
    noise = (share / (1.0 - share)) ** 0.02
    return 100.0 * level * noise * (1.0 + 0.2 * np.exp(-np.arange(runs) / (0.03 * runs)))


def _paused_runs(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """A hypervisor pauses the guest: Weibull gaps, log-normal pauses that meet one or two runs."""
    latency = 100.0 * level * np.exp(0.03 * rng.standard_normal(runs))
    place = np.cumsum(1.0 + 60.0 * rng.weibull(0.7, runs // 20))
    hit = place[place < runs].astype(int)
    latency[hit] += 30.0 * np.exp(0.8 * rng.standard_normal(len(hit)))
    follows = hit[rng.random(len(hit)) < 0.4] + 1
    latency[follows[follows < runs]] += 10.0
    return latency


def _coloured_runs(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """Neighbouring runs correlate by 0.8."""
    return 100.0 * level * np.exp(0.04 * autoregressive(rng.standard_normal(runs), 0.8))


def _wandering(rng: np.random.Generator, rounds: int) -> np.ndarray:
    """A weak correlation of neighbouring rounds, with heavy tails."""
    noise = rng.standard_t(5, rounds)
    noise[1:] *= 0.954
    levels: np.ndarray = np.exp(0.015 * lfilter([1.0], [1.0, -0.3], noise))
    return levels


def _queued_runs(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """A fixed cost and a queue behind it."""
    return 100.0 * level * (1.0 + 0.1 * rng.gamma(1.5, 1.0, runs))


HELD_OUT: tuple[Machine, ...] = (
    Machine("warming caches", log_normal_levels(0.012), _warming),
    Machine("paused guest", log_normal_levels(0.01), _paused_runs),
    Machine("cache colours", modes((1.0, 1.02, 1.05), (0.4, 0.35, 0.25), 0.004), _coloured_runs),
    Machine(
        "rounds correlate by 0.3",
        _wandering,
        _queued_runs,
        lambda rng, rounds: np.exp(0.015 * rng.standard_t(5, rounds)),
    ),
)
