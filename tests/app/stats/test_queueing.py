"""The virtual clock: exact by hand, and as the formulas of queues have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.stats.open_loop import simulate_queue
from tests.simulated.queues import (
    UTILISATIONS,
    constant,
    crommelin_ns,
    exponential,
    poisson,
    pollaczek_khinchine_ns,
)

COUNT = 2_000_000
SEEDS = range(4)
"""At utilisation 0.9 the mean wait of so many exponential services has a deviation of 1.5 %, by
W. Whitt, Management Science 35, 1989; that of four such runs of 0.75 %."""


def test_a_request_waits_for_those_before_it_and_no_longer() -> None:
    queue = simulate_queue(np.array([0, 10, 20, 200]), np.array([50, 30, 5, 7]))
    assert queue.started_ns.tolist() == [0, 50, 80, 200]
    assert queue.finished_ns.tolist() == [50, 80, 85, 207]
    assert queue.latency_ns.tolist() == [50, 70, 65, 7], "a user counts from the arrival"


def test_a_request_goes_to_the_server_that_is_free_first() -> None:
    queue = simulate_queue(
        np.array([0, 10, 20, 30, 40]), np.array([100, 20, 40, 10, 10]), servers=2
    )
    assert queue.started_ns.tolist() == [0, 10, 30, 70, 80]
    assert queue.finished_ns.tolist() == [100, 30, 70, 80, 90]


def test_a_stall_is_in_the_latency_of_all_who_arrived_in_it() -> None:
    """One run of 1 s among runs of 1 ms, due every 10 ms: the latencies fall by 9 ms each."""
    arrivals = np.arange(200) * 10_000_000
    service = np.full(200, 1_000_000)
    service[50] = 1_000_000_000
    late = simulate_queue(arrivals, service).latency_ns[50:]
    expected = np.maximum(1_000_000_000 - 9_000_000 * np.arange(150), 1_000_000)
    assert late.tolist() == expected.tolist()


@given(
    gaps=st.lists(st.integers(0, 50), min_size=1, max_size=60),
    data=st.data(),
    servers=st.integers(1, 4),
)
def test_every_number_of_servers_is_served_as_one_by_one(
    gaps: list[int], data: st.DataObject, servers: int
) -> None:
    """Against the definition, request by request: who comes first begins on what is free first."""
    arrivals = np.cumsum(gaps)
    durations = data.draw(st.lists(st.integers(0, 90), min_size=len(gaps), max_size=len(gaps)))
    free = [0] * servers
    expected = []
    for arrival, lasts in zip(arrivals.tolist(), durations, strict=True):
        server = free.index(min(free))
        expected.append(max(arrival, free[server]))
        free[server] = expected[-1] + lasts
    assert simulate_queue(arrivals, np.array(durations), servers).started_ns.tolist() == expected


@pytest.mark.parametrize("utilisation", UTILISATIONS)
def test_the_mean_wait_of_one_server_is_the_formulas(utilisation: float) -> None:
    exponential_waits, constants = [], []
    for seed in SEEDS:
        arrivals = poisson(utilisation, 1, COUNT, seed)
        exponential_waits.append(
            simulate_queue(arrivals, exponential(COUNT, 100 + seed)).queue_ns.mean()
        )
        constants.append(simulate_queue(arrivals, constant(COUNT)).queue_ns.mean())
    for waits, variation in ((exponential_waits, 1.0), (constants, 0.0)):
        formula = pollaczek_khinchine_ns(utilisation, variation)
        assert np.mean(waits) == pytest.approx(formula, rel=0.03)


@pytest.mark.parametrize("utilisation", UTILISATIONS)
def test_the_mean_wait_of_two_servers_is_crommelins(utilisation: float) -> None:
    arrivals = poisson(utilisation, 2, COUNT, seed=0)
    wait = simulate_queue(arrivals, constant(COUNT), servers=2).queue_ns.mean()
    assert wait == pytest.approx(crommelin_ns(utilisation, 2), rel=0.03)


def test_crommelins_series_is_the_formula_of_one_server() -> None:
    for utilisation in UTILISATIONS:
        assert crommelin_ns(utilisation, 1) == pytest.approx(
            pollaczek_khinchine_ns(utilisation, 0.0), rel=1e-9
        )


def test_no_request_is_served_by_nothing() -> None:
    assert len(simulate_queue(np.array([], np.int64), np.array([], np.int64), 3).started_ns) == 0


@pytest.mark.parametrize(
    ("arrivals", "service", "servers", "said"),
    [
        ([0, 1], [1], 1, "2 arrivals and 1 services"),
        ([0, 1], [1, 1], 0, "at least 1 server"),
        ([1, 0], [1, 1], 1, "must ascend"),
        ([0, 1], [1, -1], 2, "not be negative"),
    ],
)
def test_what_is_no_queue_is_refused(
    arrivals: list[int], service: list[int], servers: int, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        simulate_queue(np.array(arrivals), np.array(service), servers)
