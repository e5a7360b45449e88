"""How long an open loop runs before its queue is in its steady state: the start of a round that is
not counted."""

from __future__ import annotations

RELAXATIONS = 3.0
"""The start is so many relaxation times of the queue. From an empty beginning the share of waits
beyond the stationary p99 is 0.5 % after one, 0.9 % after two and 0.97 % after three."""
_MOST_BUSY = 0.99
"""The relaxation time of a queue without spare capacity is infinite."""


def settling_s(rate_hz: float, capacity_hz: float, drawn: bool) -> float:
    """Seconds until a queue that begins empty has its stationary waits, by its rates alone.

    `capacity_hz` is how many requests a second are served when there is always one waiting.
    In heavy traffic the backlog is a reflected Brownian motion with drift -d and variance s^2 for
    each service, d being 1 - utilisation; its relaxation time is 2 s^2 / d^2 services (J. Abate and
    W. Whitt, Adv. Appl. Prob. 19, 1987). s^2 is the sum of the squared coefficients of variation of
    the gaps and of the services. The latter is taken as 1, that of exponential services; that of
    the gaps is 1 if they are `drawn` and 0 if they are even. 0 where requests come faster than they
    can be served: there is no steady state.
    """
    if capacity_hz <= 0.0 or rate_hz >= capacity_hz:
        return 0.0
    spare = 1.0 - min(rate_hz / capacity_hz, _MOST_BUSY)
    variance = 2.0 if drawn else 1.0
    return RELAXATIONS * 2.0 * variance / spare**2 / capacity_hz
