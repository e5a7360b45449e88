"""Queues of which the mean wait is known by formula, drawn on the virtual clock."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from app.cases.scenario import Scenario
from app.stats.open_loop import arrivals_ns

SERVICE_NS = 1_000_000
UTILISATIONS = (0.5, 0.8, 0.9)


def poisson(utilisation: float, servers: int, count: int, seed: int) -> np.ndarray:
    """The first `count` arrivals of a Poisson process, int64 nanoseconds [count]."""
    rate_hz = utilisation * servers * 1e9 / SERVICE_NS
    scenario = Scenario("poisson", rate_hz=rate_hz)
    return arrivals_ns(scenario, 1.1 * count / rate_hz, seed)[:count]


def constant(count: int) -> np.ndarray:
    """Services that all last alike, int64 nanoseconds [count]."""
    return np.full(count, SERVICE_NS)


def exponential(count: int, seed: int) -> np.ndarray:
    """Services drawn with a mean of `SERVICE_NS`, int64 nanoseconds [count]."""
    service_ns = np.random.default_rng(seed).exponential(SERVICE_NS, count)
    return np.rint(service_ns).astype(np.int64)


def pollaczek_khinchine_ns(utilisation: float, variation: float) -> float:
    """The mean wait of M/G/1, rho (1 + c^2) / (2 (1 - rho)) services; `variation` is c, the
    services' deviation over their mean."""
    return SERVICE_NS * utilisation * (1.0 + variation**2) / (2.0 * (1.0 - utilisation))


def crommelin_ns(utilisation: float, servers: int) -> float:
    """The mean wait of M/D/c (C. D. Crommelin, Post Office Electr. Eng. J. 25, 1932).

    With a = c rho, the sum over i >= 1 of P(N >= ic) - P(N >= ic + 1) / rho services, where N is
    Poisson with mean ia.
    """
    i = np.arange(1, 10_000)
    least, mean = i * servers, i * servers * utilisation
    terms = gammainc(least, mean) - gammainc(least + 1, mean) / utilisation
    return SERVICE_NS * float(terms.sum())
