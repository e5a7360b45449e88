"""Runs far above the others of their round, and what was seen to come between when they ran.

An event explains as many runs as it can have slowed down, and the slowest of its block first; so
one switch in a block of thousands of runs does not explain all that were slow in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from app.cases.interference import Disturbance
from app.stats.clock_tick import clock_tick
from app.stats.quantiles import order_statistic
from runtimes.execution import Samples

UNSEEN = "unseen"
CAUSES = ("steal", "switch", "page fault", "interrupts", "clock")
"""A hypervisor or another thread had the core, a page came from disk, a device interrupted far
more than usual, the clock was low."""
_TICK_MS = 10.0
"""Stolen time is counted in such steps: up to one more may have been taken."""
_LEAST_STEAL_MS = 0.1
"""A run that took less beyond the median did not lose its core to a hypervisor."""


def fence(ascending: np.ndarray) -> float:
    """Three interquartile ranges above the third quartile: what is beyond is an outlier.

    The range is at least one tick of the clock: both quartiles may read as the same multiple.
    """
    first, third = order_statistic(ascending, 0.25), order_statistic(ascending, 0.75)
    return third + 3.0 * max(third - first, clock_tick(ascending))


def outlying(samples: Samples) -> np.ndarray:
    """Which of one round's runs are beyond the fence of their shape, booleans [n]."""
    service = samples.service_ns
    if samples.shapes is None:
        return _beyond(service)
    found = np.zeros(len(service), bool)
    for own in _alike(samples):
        found[own] = _beyond(service[own])
    return found


def _beyond(service: np.ndarray) -> np.ndarray:
    """Of runs that are alike; none of no runs."""
    if not len(service):
        return np.zeros(0, bool)
    found: np.ndarray = service > fence(np.sort(service))
    return found


def _alike(samples: Samples) -> list[np.ndarray]:
    """Which runs are of one shape, booleans [n] for each shape that ran."""
    if samples.shapes is None:
        return [np.ones(len(samples.started_ns), bool)] if len(samples.started_ns) else []
    return [samples.shapes == shape for shape in np.unique(samples.shapes)]


def _typical_ns(samples: Samples) -> np.ndarray:
    """The median of its shape for each run [n]."""
    service = samples.service_ns
    typical = np.zeros(len(service), service.dtype)
    for own in _alike(samples):
        typical[own] = order_statistic(np.sort(service[own]), 0.5)
    return typical


def outlier_causes(samples: Samples, disturbances: Sequence[Disturbance]) -> Counter[str]:
    """How many of one round's outliers have which cause; `unseen` where none was seen."""
    latency, found = samples.service_ns, Counter[str]()
    if not len(latency):
        return found
    beyond = outlying(samples)
    if not beyond.any():
        return found
    started = samples.started_ns[beyond]
    excess_ms = (latency - _typical_ns(samples))[beyond] * 1e-6
    for block in disturbances:
        inside = (started >= block.begun_ns) & (started < block.ended_ns)
        found += _in_block(np.sort(excess_ms[inside])[::-1].tolist(), block)
    found[UNSEEN] = len(started) - found.total()
    return +found


def _in_block(excess_ms: Sequence[float], block: Disturbance) -> Counter[str]:
    """`excess_ms` is what the outliers took beyond the median, the largest first."""
    found, rest = Counter[str](), []
    stolen_ms = block.steal_ms + _TICK_MS if block.steal_ms else 0.0
    for beyond_ms in excess_ms:
        if _LEAST_STEAL_MS <= beyond_ms <= stolen_ms:
            stolen_ms -= beyond_ms
            found["steal"] += 1
        else:
            rest.append(beyond_ms)
    left = len(rest)
    for cause, most in (
        ("switch", block.involuntary_switches),
        ("page fault", block.major_faults),
        ("interrupts", left if block.many_interrupts else 0),
        ("clock", left if block.low_clock else 0),
    ):
        found[cause] = min(most, left)
        left -= found[cause]
    return found
