"""The virtual clock: exact by hand, and as the formulas of queues have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulated.queues import (
    UTILISATIONS,
    constant,
    crommelin_ns,
    exponential,
    poisson,
    pollaczek_khinchine_ns,
    simulate_queue,
)

COUNT = 2_000_000
SEEDS = range(4)
"""At utilisation 0.9 the mean wait of so many exponential services has a deviation of 1.5 %, by
W. Whitt, Management Science 35, 1989; that of four such runs of 0.75 %."""


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
