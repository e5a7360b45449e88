"""Searches for the highest rate on the virtual clock, with the schedules that a sweep draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from app.capabilities.slo_search.rounds import arrivals_of
from app.capabilities.slo_search.search import Bracket, Rounds, next_rate
from app.cases.objectives import Target
from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.stats.capacity import (
    Observation,
    RateRound,
    cluster,
    dispersion,
    required_requests,
    summarise_round,
)
from app.sweep.scheduling.round_jobs import round_seed
from app.sweep.scheduling.round_scheduler import LONGEST_S
from app.workers.open_loop import timed_schedule
from tests.simulated.machines import autoregressive
from tests.simulated.queues import simulate_queue

MS = 1e6
Services = Callable[[int, np.random.Generator], np.ndarray]
"""So many services with a mean of 1 ms, in ns, of one process."""


def exponential(count: int, rng: np.random.Generator) -> np.ndarray:
    return MS * rng.exponential(1.0, count)


def constant(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.full(count, MS)


def lognormal(count: int, rng: np.random.Generator) -> np.ndarray:
    """With a deviation of 20 %."""
    return MS * np.exp(rng.normal(-0.02, 0.2, count))


def stalling(count: int, rng: np.random.Generator) -> np.ndarray:
    """One in 200 takes 21 times as long as the others."""
    return MS / 1.1 * np.where(rng.random(count) < 0.005, 21.0, 1.0)


def linked(count: int, rng: np.random.Generator) -> np.ndarray:
    """Neighbours correlate by 0.995, with a deviation of 25 % of the logarithm."""
    series = autoregressive(rng.standard_normal(count), 0.995)
    return MS * np.exp(0.25 * series - 0.25**2 / 2.0)


def differing(spread: float) -> Services:
    """Processes whose speeds differ by this share."""

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        speed = math.exp(spread * rng.standard_normal() - spread**2 / 2.0)
        return speed * lognormal(count, rng)

    return draw


@dataclass(frozen=True, slots=True)
class Server:
    """`limit` is the target for the p99 in mean services. `slowing` is by which share services
    take longer after 60 rounds, `requests` how many a round has, 0 for as many as a sweep has.
    `exact_hz` is the limit where a formula gives it."""

    name: str
    services: Services
    limit: float
    servers: int = 1
    slowing: float = 0.0
    requests: int = 0
    percentile: float | None = 99.0
    exact_hz: float = 0.0

    @property
    def target(self) -> Target:
        return Target(self.percentile, 1e3 * self.limit)

    @property
    def capacity_hz(self) -> float:
        return 1e3 * self.servers

    def latencies_us(
        self,
        schedule_seed: int,
        services_seed: int,
        rate_hz: float,
        limits: Limits,
        slower: float = 1.0,
    ) -> np.ndarray:
        """Of the requests that count in one round, in their order."""
        scenario = Scenario("poisson", rate_hz=rate_hz)
        schedule = timed_schedule(scenario, limits, schedule_seed, None, self.capacity_hz)
        rng = np.random.default_rng([services_seed, 1])
        services = slower * self.services(len(schedule.offsets_ns), rng)
        services_ns = np.rint(services).astype(np.int64)
        samples = simulate_queue(schedule.offsets_ns, services_ns, self.servers)
        latencies: np.ndarray = samples.latency_ns[schedule.start_requests :] / 1e3
        return latencies

    def round(
        self, rate_hz: float, number: int, seed: int, place: int = 0, common: bool = False
    ) -> RateRound:
        """Round `number` at this rate, the one at `place` of the search."""
        late_together = cluster(self.target, self.capacity_hz, rate_hz / self.capacity_hz)
        requests = self.requests or required_requests(self.target, late_together)
        longest_s = LONGEST_S if not self.requests else math.inf
        limits = Limits(min_s=0.0, max_s=longest_s, min_samples=requests)
        arrivals = "arrivals" if common else arrivals_of(rate_hz)
        latencies_us = self.latencies_us(
            round_seed(seed, arrivals, number),
            round_seed(seed, f"{self.name} {rate_hz}", number),
            rate_hz,
            limits,
            1.0 + self.slowing * place / 60.0,
        )
        dispersion_us = dispersion(self.target, self.capacity_hz, rate_hz / self.capacity_hz)
        return summarise_round(latencies_us, self.target, dispersion_us)

    def true_hz(self, rounds: int = 60, requests: int = 60_000) -> float:
        """The rate at which the share of late requests is what the target allows."""
        if self.exact_hz:
            return self.exact_hz
        limits = Limits(min_s=0.0, max_s=math.inf, min_samples=requests)

        def late(rate_hz: float) -> float:
            each = [self.latencies_us(7 * k + 1, 7 * k + 2, rate_hz, limits) for k in range(rounds)]
            if self.percentile is None:
                return (
                    float(np.mean([latency_us.mean() for latency_us in each]))
                    / self.target.limit_us
                    - 1.0
                )
            share = np.mean([np.mean(latency_us > self.target.limit_us) for latency_us in each])
            return float(share) / self.target.allowed - 1.0

        rate: float = brentq(late, 0.2 * self.capacity_hz, 0.97 * self.capacity_hz, xtol=0.5)
        return rate


SERVERS = (
    Server("M/M/1", exponential, 12.0, exact_hz=1000.0 - 1000.0 * math.log(100.0) / 12.0),
    Server("M/D/1", constant, 8.0),
    Server("M/LN.2/1", lognormal, 8.0),
    Server("M/LN.2/1 slows by 10 %", lognormal, 8.0, slowing=0.1),
    Server("M/stalls/1", stalling, 60.0),
    Server("M/AR.995/1", linked, 12.0),
    Server("M/LN.2/2", lognormal, 6.0, servers=2),
    Server("processes 3 %", differing(0.03), 8.0),
    Server("processes 10 %", differing(0.1), 8.0),
)


def search(
    server: Server, seed: int, most: int = 40, common: bool = False
) -> tuple[Bracket, Rounds]:
    """The whole search with its answer."""
    rounds = Rounds(server.target, server.capacity_hz, ())
    while (rate_hz := next_rate(rounds, most)) is not None:
        number = sum(observation.rate_hz == rate_hz for observation in rounds.observations)
        result = server.round(rate_hz, number, seed, len(rounds.observations), common)
        observations = (*rounds.observations, Observation(rate_hz, result))
        rounds = Rounds(server.target, server.capacity_hz, observations, spent=len(observations))
    return rounds.bracket(), rounds
