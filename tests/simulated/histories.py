"""Histories of runs whose changes are known: without any, with one step, and with an episode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

Noise = Callable[[np.random.Generator, int], np.ndarray]
"""So many runs' deviations, in units of their spread."""


def gaussian(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.standard_normal(runs)


def heavy(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Student's t with two degrees of freedom: no variance at all."""
    return rng.standard_t(2, runs)


def bad_nights(rng: np.random.Generator, runs: int) -> np.ndarray:
    """One run in ten is far slower, never faster."""
    return rng.standard_normal(runs) + (rng.random(runs) < 0.1) * rng.exponential(20.0, runs)


def coarse(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Many runs are equal."""
    return np.round(rng.standard_normal(runs))


def modes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Three runs in ten are on another kind of machine, by chance."""
    return rng.standard_normal(runs) + 8.0 * (rng.random(runs) < 0.3)


def linked(rho: float) -> Noise:
    """Runs that resemble the one before."""

    def noise(rng: np.random.Generator, runs: int) -> np.ndarray:
        series: np.ndarray = lfilter([1.0], [1.0, -rho], rng.standard_normal(runs + 50))
        return series[50:] * np.sqrt(1.0 - rho**2)

    return noise


STATIONARY: dict[str, Noise] = {
    "Gaussian": gaussian,
    "Student's t, 2": heavy,
    "bad nights": bad_nights,
    "coarse": coarse,
    "modes": modes,
}


def history(
    rng: np.random.Generator,
    noise: Noise,
    runs: int,
    spread: float = 0.01,
    slower: slice = slice(0, 0),
    change: float = 0.05,
) -> list[float]:
    """Microseconds about 100, those of `slower` by a share of `change` more."""
    logs = spread * noise(rng, runs)
    logs[slower] += np.log1p(change)
    figures: list[float] = (100.0 * np.exp(logs)).tolist()
    return figures


def boots(rng: np.random.Generator, runs: int, deviation: float = 0.015) -> np.ndarray:
    """What a machine adds to the logarithm of every figure: another level from each boot on, of
    which there is one every 4 to 12 runs."""
    levels: list[float] = []
    while len(levels) < runs:
        levels += [deviation * rng.standard_normal()] * int(rng.integers(4, 13))
    return np.array(levels[:runs])


def machine_history(
    rng: np.random.Generator,
    machine: np.ndarray,
    series: int,
    spread: float = 0.01,
    slower: slice = slice(0, 0),
    change: float = 0.0,
    sharing: float = 0.0,
) -> list[list[float]]:
    """So many series on a machine with these logarithms, of which the first is slower in `slower`;
    each takes its own share of what the machine does, which differ by `sharing`."""
    shares = 1.0 + sharing * rng.standard_normal(series)
    return [
        (
            np.array(
                history(
                    rng,
                    gaussian,
                    len(machine),
                    spread,
                    slower if not place else slice(0, 0),
                    change,
                )
            )
            * np.exp(shares[place] * machine)
        ).tolist()
        for place in range(series)
    ]
