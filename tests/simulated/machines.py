"""Streams with the faults of real machines: steal, DVFS, garbage collection, coarse clocks, NUMA.

The intervals were tried on these kinds while they were made; `held_out.py` has kinds on which they
were not. Latencies are in microseconds, in order of time. The levels of the rounds of one run are
drawn together, so that they can depend on each other; the runs within a round follow from the
round's level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Level = Callable[[np.random.Generator, int], np.ndarray]
"""The levels of so many rounds of one run, 1 is usual."""
Runs = Callable[[np.random.Generator, int, float], np.ndarray]
"""So many latencies of a round of this level."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`alone` draws the level of a round that has no neighbours, where `levels` depend."""

    name: str
    levels: Level
    runs: Runs
    alone: Level | None = None

    def rounds(self, rng: np.random.Generator, rounds: int, runs: int) -> list[np.ndarray]:
        """One run of the case."""
        return [self.runs(rng, runs, level) for level in self.levels(rng, rounds).tolist()]

    def processes(self, rng: np.random.Generator, count: int, runs: int) -> list[np.ndarray]:
        """Independent processes, from which the truth is computed."""
        return [
            self.runs(rng, runs, level)
            for level in (self.alone or self.levels)(rng, count).tolist()
        ]


def log_normal_levels(sigma: float) -> Level:
    return lambda rng, rounds: np.exp(sigma * rng.standard_normal(rounds))


def modes(levels: tuple[float, ...], shares: tuple[float, ...], sigma: float) -> Level:
    """Each process is in one of the modes, and stays in it."""

    def draw(rng: np.random.Generator, rounds: int) -> np.ndarray:
        mode = rng.choice(np.array(levels), rounds, p=shares)
        return mode * np.exp(sigma * rng.standard_normal(rounds))

    return draw


def autoregressive(noise: np.ndarray, rho: float) -> np.ndarray:
    """A series of variance 1 whose neighbours along the last axis correlate by `rho`, of standard
    normal numbers, which are changed."""
    from scipy.signal import lfilter  # an import of more than a second, for few tests

    noise[..., 1:] *= np.sqrt(1.0 - rho**2)
    series: np.ndarray = lfilter([1.0], [1.0, -rho], noise, axis=-1)
    return series


def fractional_noise(rng: np.random.Generator, count: int, hurst: float) -> np.ndarray:
    """Fractional Gaussian noise of variance 1, by circulant embedding."""
    lags = np.arange(count + 1, dtype=float)
    correlation = 0.5 * (
        np.abs(lags + 1) ** (2 * hurst) - 2 * lags ** (2 * hurst) + np.abs(lags - 1) ** (2 * hurst)
    )
    circle = np.concatenate([correlation, correlation[-2:0:-1]])
    power = np.maximum(np.fft.fft(circle).real, 0.0)
    noise = rng.standard_normal(len(circle)) + 1j * rng.standard_normal(len(circle))
    series: np.ndarray = np.fft.fft(np.sqrt(power / len(circle)) * noise).real[:count]
    return series


def _noise(sigma: float) -> Runs:
    return lambda rng, runs, level: 100.0 * level * np.exp(sigma * rng.standard_normal(runs))


def _outliers(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    latency = _noise(0.04)(rng, runs, level)
    latency[rng.random(runs) < 0.004] *= 100.0
    return latency


def _timer(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """A tick of the kernel meets each 37th run or so, and its phase drifts."""
    latency = _noise(0.03)(rng, runs, level)
    place = np.cumsum(rng.normal(37.3, 0.2, runs // 36)) + rng.uniform(0.0, 37.0)
    latency[place[place < runs].astype(int)] += 12.0 * rng.uniform(0.8, 1.2)
    return latency


def _clock(tick_us: float, latency_us: float, sigma: float) -> Runs:
    """A clock that counts in ticks; where in a tick a run begins is random."""

    def draw(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
        duration = latency_us * level * np.exp(sigma * rng.standard_normal(runs))
        phase = rng.random(runs)
        return np.maximum(tick_us, np.floor(duration / tick_us + phase) * tick_us)

    return draw


def _pareto(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    return 100.0 * level * (1.0 + 0.06 * rng.pareto(1.5, runs))


def _throttle_midway(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    latency = _noise(0.03)(rng, runs, level)
    latency[int(runs * rng.uniform(0.35, 0.65)) :] *= 1.12
    return latency


def _throttle_late(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """Three processes in ten get hot, and are slower from some moment of the last third on."""
    latency = _noise(0.03)(rng, runs, level)
    if rng.random() < 0.3:
        latency[int(runs * rng.uniform(0.67, 1.0)) :] *= 1.3
    return latency


def _steal(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """The hypervisor takes the core in spells, of lengths with a long tail, at random times."""
    latency = _noise(0.05)(rng, runs, level)
    for begin in rng.integers(0, runs, rng.poisson(runs / 900)).tolist():
        length = 1 + int(3.0 * rng.pareto(1.3))
        latency[begin : begin + length] *= 1.0 + 0.6 * rng.exponential()
    return latency


def _cliff(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """About one run in a hundred takes five times as long, so p99 lies on a cliff."""
    latency = _noise(0.03)(rng, runs, level)
    latency[rng.random(runs) < 0.01 * np.exp(0.15 * rng.standard_normal())] *= 5.0
    return latency


def _spells(
    rng: np.random.Generator, runs: int, on: Callable[[int], np.ndarray],
    off: Callable[[int], np.ndarray], share: float,
) -> np.ndarray:  # fmt: skip
    """Which runs are in the slow state, of states that alternate: boolean [runs]."""
    count = 64
    first = rng.random() < share
    while True:
        lengths = np.empty(2 * count)
        lengths[0::2], lengths[1::2] = (on(count), off(count)) if first else (off(count), on(count))
        ends = np.cumsum(np.maximum(1.0, lengths))
        if ends[-1] >= runs + 1:
            states = np.searchsorted(ends, np.arange(runs), side="right") % 2
            return (states == 0) if first else (states == 1)
        count *= 2


def _dvfs(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """The governor keeps a low clock for long once it has chosen it: in about one process in ten
    most runs are slow."""
    latency = _noise(0.03)(rng, runs, level)
    slow = _spells(
        rng,
        runs,
        lambda n: rng.exponential(0.55 * runs, n),
        lambda n: rng.exponential(3.2 * runs, n),
        0.15,
    )
    latency[slow] *= 1.25
    return latency


def _on_off(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """A neighbour works in spells with a Pareto law: here and there through most of a round."""
    latency = _noise(0.04)(rng, runs, level)
    slow = _spells(
        rng,
        runs,
        lambda n: 90.0 * (1.0 + rng.pareto(1.2, n)),
        lambda n: 300.0 * (1.0 + rng.pareto(1.2, n)),
        0.23,
    )
    latency[slow] *= 1.3
    return latency


def _collector(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    """Latency climbs until garbage is collected, which stops the next few runs."""
    period = rng.uniform(350.0, 450.0)
    place = (np.arange(runs) + rng.uniform(0.0, period)) % period
    latency = _noise(0.02)(rng, runs, level) * (1.0 + 0.08 * place / period)
    latency[place < 5.0] *= 4.0 * rng.uniform(0.8, 1.2)
    return latency


def _long_memory(rng: np.random.Generator, runs: int, level: float) -> np.ndarray:
    return 100.0 * level * np.exp(0.06 * fractional_noise(rng, runs, 0.9))


MACHINES: tuple[Machine, ...] = (
    Machine("outliers 100x", log_normal_levels(0.01), _outliers),
    Machine("timer, drifting phase", log_normal_levels(0.01), _timer),
    Machine("NUMA, 3 levels", modes((1.0, 1.08, 1.2), (0.5, 0.3, 0.2), 0.01), _noise(0.05)),
    Machine("clock of 100 ns", log_normal_levels(0.015), _clock(0.1, 1.23, 0.03)),
    Machine("Pareto 1.5", log_normal_levels(0.01), _pareto),
    Machine(
        "long memory over rounds",
        lambda rng, rounds: np.exp(0.02 * fractional_noise(rng, rounds, 0.9)),
        _noise(0.05),
        log_normal_levels(0.02),
    ),
    Machine("throttled midway", log_normal_levels(0.01), _throttle_midway),
    Machine("steal", log_normal_levels(0.015), _steal),
    Machine("cliff at p99", log_normal_levels(0.02), _cliff),
    Machine("DVFS hysteresis", log_normal_levels(0.01), _dvfs),
    Machine("garbage collector", log_normal_levels(0.002), _collector),
    Machine("clock of 10 ns", log_normal_levels(0.02), _clock(0.01, 1.23, 0.05)),
    Machine("long memory in rounds", log_normal_levels(0.005), _long_memory),
    Machine("1 process in 20 is 3x", modes((1.0, 3.0), (0.95, 0.05), 0.025), _noise(0.05)),
    Machine("throttled late", log_normal_levels(0.01), _throttle_late),
    Machine("on-off neighbour", log_normal_levels(0.01), _on_off),
)
"""Kinds on which earlier intervals were found wanting, and some on which they were not."""
