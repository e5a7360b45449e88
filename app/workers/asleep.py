"""How long this machine has slept: its clocks stop with it, all but one.

Runs are timed by a clock that does not count sleep, so a round that the machine slept through
looks whole; caches, clock frequency and devices are not what they were.
"""

from __future__ import annotations

import time

_LOOKS = 5
_JITTER_S = 0.05
"""Two clocks are read one after the other, and something may come between."""


def slept_s() -> float:
    """Seconds of sleep since the machine started; 0 where the system does not count them."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    # What comes between two readings makes the difference larger, never smaller.
    return min(
        -time.clock_gettime(time.CLOCK_MONOTONIC) + time.clock_gettime(time.CLOCK_BOOTTIME)
        for _ in range(_LOOKS)
    )


def has_slept(before_s: float) -> float:
    """Seconds of sleep since `slept_s` gave `before_s`; 0.0 if it has not slept."""
    since = slept_s() - before_s
    return since if since > _JITTER_S else 0.0
