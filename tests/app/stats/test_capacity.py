"""The search for the highest rate: on the virtual clock it finds what the formulas give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from scipy.optimize import brentq

from app.capabilities.slo_search.estimate import Observation, RateRound
from app.capabilities.slo_search.search import (
    Bracket,
    Rounds,
    curve_rates,
    knee,
    next_rate,
    round_rate,
)
from app.cases.objectives import Target
from app.cases.scenario import MAXIMUM_RATE_HZ
from tests.simulated.servers import SERVERS, Server, constant, exponential, search

TARGET = Target(99.0, 5000.0)
LONG = 100_000
"""Requests in a round, where the rate is to be found within 3 %."""


def exponential_services(utilisation: float) -> float:
    """The p99 of M/M/1 in services: a response is exponential with the rate mu - lambda."""
    return math.log(100.0) / (1.0 - utilisation)


def constant_services(utilisation: float) -> float:
    """The p99 of M/D/1 in services, by the distribution of A. K. Erlang, 1909."""

    def late(wait: float) -> float:
        parts = (
            (-utilisation * (wait - k)) ** k
            / math.factorial(k)
            * math.exp(utilisation * (wait - k))
            for k in range(math.floor(wait) + 1)
        )
        return 1.0 - (1.0 - utilisation) * sum(parts) - 0.01

    return 1.0 + float(brentq(late, 0.0, 26.0))


SHORT = 20
"""Rounds of a search in a test, half of those that a sweep has."""


@pytest.mark.parametrize("utilisation", [0.5, 0.9])
def test_it_finds_the_rate_of_drawn_services(utilisation: float) -> None:
    server = Server("M/M/1", exponential, exponential_services(utilisation), requests=LONG)
    bracket, rounds = search(server, 1, SHORT)
    estimate = rounds.estimate()
    assert estimate is not None
    assert estimate.best_hz == pytest.approx(1000.0 * utilisation, rel=0.03)
    assert bracket.low_hz is not None and bracket.high_hz is not None
    assert bracket.low_hz <= 1000.0 * utilisation <= bracket.high_hz <= 1.1 * bracket.low_hz


@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9])
def test_it_finds_the_rate_of_constant_services(utilisation: float) -> None:
    server = Server("M/D/1", constant, constant_services(utilisation), requests=LONG)
    bracket, rounds = search(server, 1, SHORT)
    estimate = rounds.estimate()
    assert estimate is not None
    assert estimate.best_hz == pytest.approx(1000.0 * utilisation, rel=0.03)
    assert bracket.low_hz is not None and bracket.high_hz is not None
    assert bracket.low_hz <= 1000.0 * utilisation <= bracket.high_hz <= 1.1 * bracket.low_hz


@pytest.mark.parametrize("services", [2.0, 5.0])
def test_a_target_on_the_mean_is_found_likewise(services: float) -> None:
    """The mean response of M/M/1 is 1 / (mu - lambda)."""
    server = Server("M/M/1", exponential, services, requests=20_000, percentile=None)
    bracket, _ = search(server, 1, SHORT)
    true_hz = 1000.0 * (1.0 - 1.0 / services)
    assert (bracket.low_hz or 0.0) <= true_hz <= (bracket.high_hz or math.inf)
    assert (bracket.high_hz or math.inf) <= 1.1 * (bracket.low_hz or 0.0)


def test_the_promise_holds_where_processes_differ() -> None:
    """Whose speeds differ by 10 %: the limit is 659/s, by 60 rounds of 60,000 requests."""
    server = next(candidate for candidate in SERVERS if candidate.name == "processes 10 %")
    violations = sum((search(server, seed)[0].low_hz or 0.0) > 659.0 for seed in range(6))
    assert violations <= 1


def observed(rate_hz: float, late: int, requests: int = 2000) -> Observation:
    return Observation(rate_hz, RateRound(requests, float(requests), late, 4000.0))


def played(
    late_at: Callable[[float], int], most: int = 40, offered_below_hz: float = math.inf
) -> Rounds:
    """A search of rounds in which so many of 2,000 requests are late at a rate."""
    rounds = Rounds(TARGET, 1000.0, (), offered_below_hz)
    while (rate_hz := next_rate(rounds, most)) is not None:
        observations = (*rounds.observations, observed(rate_hz, late_at(rate_hz)))
        rounds = replace(rounds, observations=observations, spent=len(observations))
        assert len(observations) <= most
    return rounds


@pytest.mark.parametrize("limit_hz", [60.0, 123.0, 500.0, 700.0, 950.0])
def test_it_ends_at_the_limit_wherever_that_lies(limit_hz: float) -> None:
    rounds = played(lambda rate_hz: min(2000, round(20 * (rate_hz / limit_hz) ** 8)))
    bracket = rounds.bracket()
    assert bracket.low_hz is not None and bracket.high_hz is not None
    assert bracket.low_hz <= limit_hz <= bracket.high_hz <= 1.1 * bracket.low_hz
    assert {bracket.verdict(rate_hz) for rate_hz in (1.0, bracket.low_hz)} == {"holds"}
    assert bracket.verdict(bracket.high_hz) == "breaks"
    rates = [observation.rate_hz for observation in rounds.observations]
    assert len(set(rates)) < len(rates), "rounds share rates"


def test_nothing_is_promised_that_the_rounds_do_not_show() -> None:
    assert Rounds(TARGET, 1000.0, ()).bracket() == Bracket(None, None)
    few = Rounds(TARGET, 1000.0, (observed(700.0, 0),), spent=1).bracket()
    assert few == Bracket(None, None)
    none_late = played(lambda rate_hz: 0, most=12)
    highest_hz = max(observation.rate_hz for observation in none_late.observations)
    assert (none_late.bracket().low_hz or 0.0) <= highest_hz


def test_it_gives_up_where_hardly_a_request_meets_another() -> None:
    rounds = played(lambda rate_hz: 400)
    assert rounds.bracket().low_hz is None
    lowest_hz = min(observation.rate_hz for observation in rounds.observations)
    assert lowest_hz == 20.0
    assert len(rounds.observations) < 20


def test_it_gives_up_where_no_rate_can_be_asked_for() -> None:
    rounds = Rounds(TARGET, 9e6, ())
    while (rate_hz := next_rate(rounds, 40)) is not None:
        observations = (*rounds.observations, observed(rate_hz, 0))
        rounds = replace(rounds, observations=observations, spent=len(observations))
    assert rounds.bracket().high_hz is None
    assert max(observation.rate_hz for observation in rounds.observations) == MAXIMUM_RATE_HZ
    assert len(rounds.observations) < 40


def test_a_rate_that_could_not_be_offered_bounds_the_search_and_says_so() -> None:
    rounds = played(lambda rate_hz: 0, offered_below_hz=400.0)
    rates = [observation.rate_hz for observation in rounds.observations]
    assert all(rate_hz < 400.0 for rate_hz in rates)
    bracket = rounds.bracket()
    assert (bracket.high_hz, bracket.not_offered) == (400.0, True)
    assert (bracket.low_hz or 0.0) == max(rates) > 350.0
    assert bracket.verdict(400.0) == "not_offered"


def test_the_order_of_the_rounds_changes_nothing() -> None:
    rounds = played(lambda rate_hz: min(2000, round(20 * (rate_hz / 500.0) ** 8)), most=9)
    reversed_rounds = replace(rounds, observations=rounds.observations[::-1])
    assert next_rate(reversed_rounds, 40) == pytest.approx(next_rate(rounds, 40))
    assert reversed_rounds.bracket() == rounds.bracket()


def test_the_curve_has_a_beginning_and_nothing_twice() -> None:
    assert list(curve_rates(600.0, [700.0, 350.0])) == [150.0, 300.0, 450.0]
    assert list(curve_rates(600.0, [160.0, 305.0, 290.0])) == [160.0, 305.0, 450.0]


def test_the_knee_of_a_queue_is_at_half_of_what_it_serves() -> None:
    """The mean response of M/M/1 is 1 / (mu - lambda), its power greatest at lambda = mu / 2."""
    assert knee((rate, 1.0 / (1000 - rate)) for rate in range(100, 1000, 100)) == 500
    assert knee(()) is None


def test_rates_have_four_digits() -> None:
    assert [round_rate(rate) for rate in (1234.56, 0.123456, 98765.0)] == [1235.0, 0.1235, 98760.0]
