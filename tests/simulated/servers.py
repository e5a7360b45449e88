"""Searches for the highest rate on the virtual clock: servers whose capacity a formula gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.cases.scenario import Scenario
from app.cases.target import MOST_ROUNDS, Target
from app.stats.arrivals import arrivals_ns
from app.stats.capacity import Bracket, Step, bracket, next_rate
from app.stats.judging import Seen, cluster, judged, seen
from app.stats.queueing import served

Services = Callable[[int, int], np.ndarray]
"""So many services of this seed, int64 nanoseconds."""


@dataclass(frozen=True, slots=True)
class Server:
    """What serves, and for how long a round measures it."""

    services: Services
    service_hz: float
    requests: int
    servers: int = 1

    def round(self, rate_hz: float, target: Target, seed: int) -> Seen:
        """One round at this rate, which begins with nobody waiting."""
        arrivals = arrivals_ns(Scenario("poisson", rate_hz=rate_hz), self.requests / rate_hz, seed)
        samples = served(arrivals, self.services(len(arrivals), seed + 1), self.servers)
        late_together = cluster(target, self.service_hz, rate_hz / self.service_hz)
        return seen(samples.latency_ns / 1e3, target, late_together)


def search(server: Server, target: Target, seed: int = 0) -> tuple[Bracket, list[Step]]:
    """The whole search with what it came to."""
    steps: list[Step] = []
    while (rate := next_rate(steps, server.service_hz)) is not None:
        rounds: list[Seen] = []
        while (verdict := judged(rounds, target)) is None:
            seed += 1
            rounds.append(server.round(rate, target, 1000 * seed))
            assert len(rounds) <= MOST_ROUNDS
        steps.append(Step(rate, verdict))
    return bracket(steps), steps
