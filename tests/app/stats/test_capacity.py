"""The search for the highest rate: on the virtual clock it finds what the formulas give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from app.cases.scenario import MOST_RATE_HZ
from app.cases.target import Target
from app.stats.capacity import (
    RESOLUTION,
    Step,
    Verdict,
    bracket,
    curve_rates,
    knee,
    next_rate,
    rounded,
)
from app.stats.judging import cluster, requests_wanted
from tests.simulated.queues import constant, exponential
from tests.simulated.servers import Server, search

MS = 1e3
LONG = 200_000
"""Requests in a round, where the rate is to be found within 3 %."""


def drawn(count: int, seed: int) -> np.ndarray:
    return exponential(count, seed)


def alike(count: int, seed: int) -> np.ndarray:
    return constant(count)


def exponential_target(utilisation: float) -> Target:
    """In M/M/1 a response is exponential with the rate mu - lambda; services take 1 ms."""
    return Target(99.0, math.log(100.0) / (1.0 - utilisation) * MS)


def constant_target(utilisation: float) -> Target:
    """The p99 of M/D/1, by the distribution of A. K. Erlang, 1909; services take 1 ms."""

    def late(wait: float) -> float:
        parts = (
            (-utilisation * (wait - k)) ** k
            / math.factorial(k)
            * math.exp(utilisation * (wait - k))
            for k in range(math.floor(wait) + 1)
        )
        return 1.0 - (1.0 - utilisation) * sum(parts) - 0.01

    return Target(99.0, (1.0 + brentq(late, 0.0, 26.0)) * MS)


@pytest.mark.parametrize("utilisation", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_it_finds_the_rate_of_drawn_services_within_3_percent(utilisation: float) -> None:
    found, _ = search(Server(drawn, 1000.0, LONG), exponential_target(utilisation))
    assert found.middle_hz == pytest.approx(1000.0 * utilisation, rel=0.03)


@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9])
def test_it_finds_the_rate_of_constant_services_within_3_percent(utilisation: float) -> None:
    found, _ = search(Server(alike, 1000.0, LONG), constant_target(utilisation))
    assert found.middle_hz == pytest.approx(1000.0 * utilisation, rel=0.03)


def test_a_target_on_the_mean_is_found_likewise() -> None:
    found, _ = search(Server(drawn, 1000.0, LONG), Target(None, 5.0 * MS))
    assert found.middle_hz == pytest.approx(800.0, rel=0.03)


@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9])
def test_rounds_as_a_sweep_has_them_bracket_the_rate(utilisation: float) -> None:
    """A bracket is wrong if either of its ends is: at most 1 in 10, 2 of 20 in the mean."""
    target = exponential_target(utilisation)
    wanted = requests_wanted(target, cluster(target, 1000.0, utilisation))
    server = Server(drawn, 1000.0, wanted)
    held = 0
    for seed in range(20):
        found, _ = search(server, target, seed=100 * seed)
        assert found.low_hz is not None
        assert found.high_hz is not None
        held += found.low_hz <= 1000.0 * utilisation <= found.high_hz
    assert held >= 16


def test_two_servers_hold_more_than_twice_what_one_does() -> None:
    target = Target(99.0, 5.0 * MS)
    one, _ = search(Server(alike, 1000.0, 20_000), target)
    two, _ = search(Server(alike, 2000.0, 20_000, servers=2), target)
    assert (two.low_hz or 0.0) > 2.0 * (one.high_hz or math.inf)


def tried(verdict_at: dict[float, Verdict] | float, service_hz: float) -> list[Step]:
    """The steps where rates up to `verdict_at` hold and all others break."""
    steps: list[Step] = []
    while (rate := next_rate(steps, service_hz)) is not None:
        assert len(steps) < 60, "a search ends"
        assert isinstance(verdict_at, float)
        steps.append(Step(rate, "holds" if rate <= verdict_at else "breaks"))
    return steps


@pytest.mark.parametrize("capacity", [30.0, 123.0, 500.0, 700.0, 999.0, 4000.0])
def test_it_ends_within_the_resolution_wherever_the_rate_lies(capacity: float) -> None:
    steps = tried(capacity, 1000.0)
    found = bracket(steps)
    assert found.low_hz is not None
    assert found.high_hz is not None
    assert found.low_hz <= capacity < found.high_hz <= (1.0 + RESOLUTION) * found.low_hz
    assert len({step.rate_hz for step in steps}) == len(steps) <= 14


def test_it_gives_up_where_hardly_a_request_meets_another() -> None:
    steps = tried(0.0, 1000.0)
    assert bracket(steps).low_hz is None
    assert 20.0 <= min(step.rate_hz for step in steps) < 40.0


def test_it_gives_up_where_no_rate_can_be_asked_for() -> None:
    steps = tried(math.inf, 9e6)
    assert bracket(steps).high_hz is None
    assert max(step.rate_hz for step in steps) <= MOST_RATE_HZ


def test_both_sides_of_what_stays_undecided_are_looked_at() -> None:
    steps: list[Step] = []
    while (rate := next_rate(steps, 1000.0)) is not None:
        verdict: Verdict = "holds" if rate < 400 else "undecided" if rate < 800 else "breaks"
        steps.append(Step(rate, verdict))
    found = bracket(steps)
    undecided = [step.rate_hz for step in steps if step.verdict == "undecided"]
    assert found.low_hz is not None
    assert found.high_hz is not None
    gain = (found.high_hz - found.low_hz) / 8.0
    assert min(undecided) - found.low_hz <= gain, "closer would hardly narrow the bracket"
    assert found.high_hz - max(undecided) <= gain
    assert min(undecided) - found.low_hz > gain / 4.0, "and closer than that nobody looked"


def test_a_rate_that_could_not_be_offered_bounds_the_search_and_says_so() -> None:
    steps = [Step(700.0, "holds"), Step(989.9, "not_offered")]
    assert bracket(steps).end == "not_offered"
    assert 700.0 < (next_rate(steps, 1000.0) or 0.0) < 989.9


def test_a_round_that_fails_ends_the_search() -> None:
    assert next_rate([Step(700.0, "holds"), Step(989.9, "failed")], 1000.0) is None


def test_the_curve_has_a_beginning_and_nothing_twice() -> None:
    steps = [Step(700.0, "breaks"), Step(350.0, "holds"), Step(525.0, "holds")]
    assert list(curve_rates(600.0, steps)) == [150.0, 300.0, 450.0]
    assert list(curve_rates(600.0, [*steps, Step(160.0, "holds")])) == [300.0, 450.0]


def test_the_knee_of_a_queue_is_at_half_of_what_it_serves() -> None:
    """The mean response of M/M/1 is 1 / (mu - lambda), its power greatest at lambda = mu / 2."""
    assert knee((rate, 1.0 / (1000 - rate)) for rate in range(100, 1000, 100)) == 500
    assert knee(()) is None


def test_rates_have_four_digits() -> None:
    assert [rounded(rate) for rate in (1234.56, 0.123456, 98765.0)] == [1235.0, 0.1235, 98760.0]
