"""Queues of which the mean wait is known by formula, drawn on the virtual clock."""

from __future__ import annotations

from heapq import heapreplace

import numpy as np
from scipy.special import gammainc

from app.cases.scenario import Scenario
from app.stats.open_loop import arrivals_ns
from runtimes.execution import Samples

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


def simulate_queue(arrivals_ns: np.ndarray, service_ns: np.ndarray, servers: int = 1) -> Samples:
    """Each request's start and end, its latency from its arrival; int64 nanoseconds [n] each.

    First come, first served, in virtual time. `arrivals_ns` ascend; `service_ns` are in their
    order.
    """
    arrivals, service = (np.asarray(values, np.int64) for values in (arrivals_ns, service_ns))
    starts_ns = (
        _serve_by_one_server(arrivals, service)
        if servers == 1
        else _serve_by_several_servers(arrivals, service, servers)
    )
    return Samples(arrivals, starts_ns, starts_ns + service, "simulated", from_schedule=True)


def _serve_by_one_server(arrivals: np.ndarray, service: np.ndarray) -> np.ndarray:
    """Lindley's recursion, start(n) = max(arrival(n), start(n-1) + service(n-1)), all at once.

    With the services before n summed up, start(n) - sum(n) = max over k <= n of
    arrival(k) - sum(k) (D. V. Lindley, Proc. Camb. Phil. Soc. 48, 1952).
    """
    prior_service = np.cumsum(service) - service
    starts_ns: np.ndarray = np.maximum.accumulate(arrivals - prior_service) + prior_service
    return starts_ns


def _serve_by_several_servers(
    arrivals: np.ndarray, service: np.ndarray, servers: int
) -> np.ndarray:
    """Each request goes to the server that is free first (J. Kiefer and J. Wolfowitz, Trans. Amer.
    Math. Soc. 78, 1955)."""
    free = [int(arrivals[0]) if len(arrivals) else 0] * servers
    starts_ns = np.empty_like(arrivals)
    for place, (arrival, lasts) in enumerate(zip(arrivals.tolist(), service.tolist(), strict=True)):
        begin = max(arrival, free[0])
        heapreplace(free, begin + lasts)
        starts_ns[place] = begin
    return starts_ns
