"""When requests of an open loop arrive: fixed before the first of them, whatever the answers do."""

from __future__ import annotations

import hashlib

import numpy as np

from app.cases.scenario import Scenario


def arrivals_ns(scenario: Scenario, duration_s: float, seed: int) -> np.ndarray:
    """All arrivals of so long, int64 nanoseconds [n] from its beginning, ascending.

    Even ones begin one gap after it, drawn ones (exponential gaps, so a Poisson process) and
    bursts likewise. ValueError for a scenario that is no open loop.
    """
    if not scenario.is_open_loop:
        raise ValueError(f"{scenario} has no arrivals that are fixed beforehand")
    if scenario.kind == "poisson":
        return _drawn(scenario.rate_hz, duration_s, seed)
    at_once = max(scenario.count, 1)
    gap_ns = at_once * 1e9 / scenario.arrivals_hz
    times = np.rint(np.arange(1, int(duration_s * 1e9 / gap_ns) + 1) * gap_ns).astype(np.int64)
    return np.repeat(times, at_once)


def _drawn(rate_hz: float, duration_s: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    expected = rate_hz * duration_s
    # Enough but for once in 10^15 times; then some more.
    count = int(expected + 8 * expected**0.5) + 16
    times_s = np.cumsum(rng.exponential(1 / rate_hz, count))
    while times_s[-1] < duration_s:
        more = times_s[-1] + np.cumsum(rng.exponential(1 / rate_hz, count))
        times_s = np.concatenate([times_s, more])
    return np.rint(times_s[times_s < duration_s] * 1e9).astype(np.int64)


def schedule_sha256(arrivals: np.ndarray) -> str:
    """64 hex digits that name these arrivals: of their int64 values, little-endian."""
    return hashlib.sha256(np.ascontiguousarray(arrivals, "<i8").tobytes()).hexdigest()
