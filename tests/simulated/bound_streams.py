"""Streams that played no part in choosing the one-sided bound; continuous, truths in closed form.

Each differs from those of `streams.py` in the shape of a run's latency, of the processes' spread,
or of what binds neighbouring runs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.signal import lfilter
from scipy.special import gammaincinv, ndtr, ndtri

from tests.simulated.streams import Process, Stream


def _gamma(shape: float) -> Process:
    """A fixed cost and a queue behind it."""
    return lambda rng, runs: 50.0 + 10.0 * rng.gamma(shape, 1.0, runs)


def _linked_series(rng: np.random.Generator, runs: int, rho: float) -> np.ndarray:
    """Standard normals of which neighbours correlate."""
    noise = rng.standard_normal(runs)
    noise[1:] *= math.sqrt(1.0 - rho**2)
    linked: np.ndarray = lfilter([1.0], [1.0, -rho], noise)
    return linked


def _weibull(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Weibull runs that remember their neighbour, in processes that spread evenly over 6 %."""
    share = ndtr(_linked_series(rng, runs, 0.7))
    return 100.0 * np.exp(rng.uniform(-0.03, 0.03)) * (-np.log1p(-share)) ** (1 / 8)


def _log_logistic(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A power law at the end, in processes whose logarithms spread as a Laplace."""
    share = rng.random(runs)
    process_shift = rng.laplace(0.0, 0.02)
    return 80.0 * np.exp(process_shift) * (1.0 + 0.2 * (share / (1.0 - share)) ** (1 / 4))


def _own_width(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Each process has a width of its own, and so a tail of its own."""
    return 100.0 * np.exp(rng.uniform(0.02, 0.06) * _linked_series(rng, runs, 0.4))


FRESH: tuple[Stream, ...] = (
    Stream("queue", "continuous", _gamma(2.0), lambda q: 50.0 + 10.0 * float(gammaincinv(2.0, q))),
    Stream(
        "Weibull, AR 0.7", "continuous", _weibull, lambda q: 100.0 * (-math.log1p(-q)) ** (1 / 8)
    ),
    Stream(
        "log-logistic",
        "continuous",
        _log_logistic,
        lambda q: 80.0 * (1.0 + 0.2 * (q / (1.0 - q)) ** (1 / 4)),
    ),
    Stream(
        "widths by process",
        "continuous",
        _own_width,
        lambda q: 100.0 * math.exp(0.04 * float(ndtri(q))),
    ),
)
