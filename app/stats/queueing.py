"""A virtual clock: when requests that arrive so, and take so long, would begin and end.

First come, first served, by one server or several. Nothing runs and nothing is timed, so that a
method can be held against a formula with millions of requests.
"""

from __future__ import annotations

from heapq import heapreplace

import numpy as np

from runtimes.execution import Samples


def served(arrivals_ns: np.ndarray, service_ns: np.ndarray, servers: int = 1) -> Samples:
    """Each request's start and end, its latency from its arrival; int64 nanoseconds [n] each.

    `arrivals_ns` ascend; `service_ns` are in the order of the arrivals. ValueError for what is
    no queue.
    """
    arrivals, service = (np.asarray(given, np.int64) for given in (arrivals_ns, service_ns))
    if arrivals.shape != service.shape:
        raise ValueError(f"{len(arrivals)} arrivals and {len(service)} services; give each its own")
    if servers < 1:
        raise ValueError(f"expected at least 1 server (got {servers})")
    if np.any(np.diff(arrivals) < 0) or np.any(service < 0):
        raise ValueError("arrivals must ascend, and services not be negative")
    started = _by_one(arrivals, service) if servers == 1 else _by_some(arrivals, service, servers)
    return Samples(arrivals, started, started + service, "simulated", from_schedule=True)


def _by_one(arrivals: np.ndarray, service: np.ndarray) -> np.ndarray:
    """Lindley's recursion, start(n) = max(arrival(n), start(n-1) + service(n-1)), all at once.

    With the services before n summed up, start(n) - sum(n) = max over k <= n of
    arrival(k) - sum(k) (D. V. Lindley, Proc. Camb. Phil. Soc. 48, 1952).
    """
    before = np.cumsum(service) - service
    started: np.ndarray = np.maximum.accumulate(arrivals - before) + before
    return started


def _by_some(arrivals: np.ndarray, service: np.ndarray, servers: int) -> np.ndarray:
    """Each request goes to the server that is free first (J. Kiefer and J. Wolfowitz, Trans. Amer.
    Math. Soc. 78, 1955)."""
    free = [int(arrivals[0]) if len(arrivals) else 0] * servers
    started = np.empty_like(arrivals)
    for place, (arrival, lasts) in enumerate(zip(arrivals.tolist(), service.tolist(), strict=True)):
        begin = max(arrival, free[0])
        heapreplace(free, begin + lasts)
        started[place] = begin
    return started
