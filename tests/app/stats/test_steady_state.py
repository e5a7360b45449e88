"""The start of a round that is not counted: with it a queue shows its stationary waits."""

from __future__ import annotations

import numpy as np
import pytest

from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.stats.open_loop import settling_s, simulate_queue
from app.workers.open_loop import MAXIMUM_ARRIVALS, timed_schedule
from tests.simulated.queues import SERVICE_NS

CAPACITY_HZ = 1e9 / SERVICE_NS
P99 = 22.897
"""Services that a request of M/D/1 at 0.9 takes, by the distribution of A. K. Erlang, 1909."""


def late_share(capacity_hz: float, rounds: int, requests: int) -> float:
    """Of requests that take longer than the stationary p99 in short rounds of M/D/1 at 0.9."""
    limits = Limits(min_s=0.0, max_s=1e9, min_samples=requests)
    scenario = Scenario("poisson", rate_hz=0.9 * CAPACITY_HZ)
    late = count = 0
    for seed in range(rounds):
        schedule = timed_schedule(scenario, limits, seed, None, capacity_hz)
        services = np.full(len(schedule.offsets_ns), SERVICE_NS)
        latencies = simulate_queue(schedule.offsets_ns, services).latency_ns[
            schedule.start_requests :
        ]
        late += int(np.count_nonzero(latencies > P99 * SERVICE_NS))
        count += len(latencies)
    return late / count


def test_without_the_start_a_short_round_shows_too_few_late_requests() -> None:
    stationary = late_share(CAPACITY_HZ, rounds=3000, requests=1000)
    assert stationary == pytest.approx(0.01, rel=0.15)
    assert late_share(0.0, rounds=3000, requests=1000) < 0.9 * stationary


def test_the_start_follows_from_the_rates() -> None:
    assert settling_s(900.0, 1000.0, is_random=True) == pytest.approx(1.2)
    assert settling_s(900.0, 1000.0, is_random=False) == pytest.approx(0.6)
    assert settling_s(500.0, 1000.0, is_random=True) == pytest.approx(0.048)
    assert settling_s(5.0, 10.0, is_random=True) == pytest.approx(4.8), "in services"
    assert settling_s(1000.0, 1000.0, is_random=True) == 0.0, "there is no steady state"
    assert settling_s(900.0, 0.0, is_random=True) == 0.0, "what is served is unknown"


@pytest.mark.parametrize("word", ["poisson:900/s", "rate:900/s", "burst:9@10ms"])
def test_what_counts_is_the_same_whatever_the_start(word: str) -> None:
    scenario, limits = Scenario.parse(word), Limits(min_s=2.0)
    plain = timed_schedule(scenario, limits, 5)
    schedule = timed_schedule(scenario, limits, 5, None, CAPACITY_HZ)
    assert (plain.start_requests, plain.start_s) == (0, 0.0)
    assert schedule.start_requests > 400
    start_ns = round(1e9 * schedule.start_s)
    assert (schedule.offsets_ns[schedule.start_requests :] - start_ns).tolist() == (
        plain.offsets_ns.tolist()
    )
    assert schedule.sha256 == plain.sha256
    assert (np.diff(schedule.offsets_ns) >= 0).all()
    assert schedule.seconds == pytest.approx(plain.seconds + schedule.start_s)
    if word.startswith("rate"):
        assert np.ptp(np.diff(schedule.offsets_ns)) <= 2, "even ones stay even"


def test_the_start_is_at_most_as_long_as_what_counts() -> None:
    busy = timed_schedule(Scenario.parse("poisson:999/s"), Limits(min_s=1.0), 1, None, 1000.0)
    assert busy.start_s <= 1.0 + 1e-9
    fast = timed_schedule(
        Scenario.parse("poisson:4000000/s"), Limits(min_s=1.0), 1, None, 4_100_000.0
    )
    assert len(fast.offsets_ns) <= 1.01 * MAXIMUM_ARRIVALS
