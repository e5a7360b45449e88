"""The search for the highest rate finds what the formulas give; what rounds show of a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from app.capabilities.slo_search.search import (
    Bracket,
    Rounds,
    curve_rates,
    next_rate,
)
from app.cases.objectives import Target
from app.cases.scenario import MAXIMUM_RATE_HZ
from app.stats.capacity import (
    FIRST_LOOK,
    Observation,
    RateRound,
    cluster,
    dispersion,
    figure_us,
    interval,
    judge_rate,
    late_share,
    required_requests,
    summarise_round,
)
from tests.simulated.servers import SERVERS, Server, Services, constant, exponential, search

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


@pytest.mark.parametrize(
    ("name", "services", "needed", "utilisation"),
    [
        ("M/M/1", exponential, exponential_services, 0.5),
        ("M/M/1", exponential, exponential_services, 0.9),
        ("M/D/1", constant, constant_services, 0.8),
    ],
)
def test_it_finds_the_rate_of_a_queue_whose_waits_are_known(
    name: str, services: Services, needed: Callable[[float], float], utilisation: float
) -> None:
    bracket, rounds = search(Server(name, services, needed(utilisation), requests=LONG), 1, SHORT)
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
    late_at: Callable[[float], int],
    most: int = 40,
    offered_below_hz: float = math.inf,
    served_hz: float = 1000.0,
) -> Rounds:
    """A search of rounds in which so many of 2,000 requests are late at a rate."""
    rounds = Rounds(TARGET, served_hz, (), offered_below_hz)
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


def test_it_gives_up_where_hardly_a_request_meets_another_and_at_the_highest_rate() -> None:
    slow, fast = played(lambda rate_hz: 400), played(lambda rate_hz: 0, served_hz=9e6)
    assert slow.bracket().low_hz is None and fast.bracket().high_hz is None
    assert min(entry.rate_hz for entry in slow.observations) == 20.0
    assert max(entry.rate_hz for entry in fast.observations) == MAXIMUM_RATE_HZ
    assert len(slow.observations) < 20 and len(fast.observations) < 40


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


ALONE = 1.0
"""A request that is late makes no other one late."""


def rounds_of(share: float, requests: int, count: int) -> list[RateRound]:
    """Rounds alike, whose late requests come at random."""
    return [RateRound(requests, requests, round(share * requests), 4000.0)] * count


@pytest.mark.parametrize(
    ("share", "requests", "count", "maximum", "verdict"),
    [
        (0.002, 2000, FIRST_LOOK, 8, "holds"),
        (0.002, 2000, FIRST_LOOK - 1, 8, None),
        (0.03, 2000, FIRST_LOOK, 8, "breaks"),
        (0.03, 2000, FIRST_LOOK - 1, 8, None),
        (0.01, 2000, FIRST_LOOK, 8, None),
        (0.01, 2000, 8, 8, "undecided"),
        (0.01, 2000, 3, 3, "undecided"),
        # Of 367 requests of which 1 % are late, none is late once in 40 times; so 368 are needed.
        (0.0, 91, 4, 4, "undecided"),
        (0.0, 92, 4, 4, "holds"),
    ],
)
def test_a_rate_is_judged_at_the_first_look_or_has_more_rounds(
    share: float, requests: int, count: int, maximum: int, verdict: str | None
) -> None:
    assert judge_rate(rounds_of(share, requests, count), TARGET, maximum=maximum) == verdict


def test_requests_that_are_late_together_count_once() -> None:
    """Also those of a long queue, where a round does not show it."""
    latencies = np.full(2000, 1000.0)
    scattered, clustered = latencies.copy(), latencies.copy()
    scattered[::100] = 9000.0
    clustered[500:510] = clustered[1500:1510] = 9000.0
    assert summarise_round(scattered, TARGET, ALONE).independent == 2000
    summary = summarise_round(clustered, TARGET, ALONE)
    assert (summary.late, summary.independent < 500) == (20, True)
    factor = dispersion(TARGET, 10_000.0, 0.95)
    assert factor > 100.0 and summarise_round(latencies, TARGET, factor).independent < 20.0


def test_a_queue_is_late_as_long_as_its_target_or_its_load_makes_it() -> None:
    assert cluster(TARGET, 100.0, 0.9) == 1.0, "one service fits into the target"
    assert cluster(TARGET, 10_000.0, 0.0) == 2.0, "hardly a request meets another"
    assert cluster(TARGET, 10_000.0, 0.9) == pytest.approx(200.0)
    assert cluster(TARGET, 10_000.0, 1.5) == pytest.approx(2 * (50 / np.log(100)) ** 2)
    assert cluster(TARGET, 0.0, 0.0) == 1.0, "a closed loop has no queue"


def test_late_requests_vary_as_theory_and_a_simulated_queue_say() -> None:
    """Of M/D/1 at the rate that just keeps 8 services, the number of late ones of 300 rounds."""
    server = next(candidate for candidate in SERVERS if candidate.name == "M/D/1")
    late = np.array([server.round(718.0, number, 1).late for number in range(300)])
    requests = server.round(718.0, 0, 1).requests
    observed_ratio = late.var() / (0.01 * requests)
    assert dispersion(server.target, 1000.0, 0.718) == pytest.approx(observed_ratio, rel=0.35)
    assert dispersion(TARGET, 100.0, 0.9) == 1.0, "less than one service fits into the target"
    assert dispersion(TARGET, 0.0, 0.0) == 1.0, "a closed loop has no queue"
    lenient = Target(99.0, 10e6)
    assert dispersion(lenient, 1000.0, 0.5) == pytest.approx(16.0)


def test_a_round_is_long_enough_for_its_percentile_and_its_queue() -> None:
    assert required_requests(TARGET, ALONE) == pytest.approx(2000, abs=1)
    assert required_requests(Target(99.9, 5000.0), ALONE) == pytest.approx(20_000, abs=1)
    assert required_requests(TARGET, 100.0) == pytest.approx(20_000, abs=1)
    assert required_requests(Target(50.0, 5000.0), ALONE) == 40
    assert required_requests(Target(None, 5000.0), ALONE) == required_requests(TARGET, ALONE)


def test_the_interval_holds_the_share_and_widens_with_rounds_that_differ() -> None:
    equal, all_late = (interval(rounds_of(share, 2000, 8), TARGET) for share in (0.01, 1.0))
    assert equal is not None and equal.low < 0.01 < equal.high
    assert all_late is not None and 0.99 < all_late.low < all_late.high == 1.0
    differing = [RateRound(2000, 2000.0, late, 4000.0) for late in (0, 40) * 4]
    wider = interval(differing, TARGET)
    assert wider is not None and wider.width > equal.width
    assert late_share(differing) == pytest.approx(0.01)
    assert interval(rounds_of(0.01, 2000, 2), TARGET) is None


def test_a_mean_is_judged_by_the_means_of_the_rounds() -> None:
    target = Target(None, 5000.0)
    rounds = [
        summarise_round(np.full(10, mean), target, ALONE)
        for mean in (4000.0, 4100.0, 4200.0, 3900.0)
    ]
    assert judge_rate(rounds, target) == "holds"
    assert judge_rate(rounds, Target(None, 3000.0)) == "breaks"
    assert judge_rate(rounds, Target(None, 4050.0), maximum=4) == "undecided"
    assert figure_us(rounds) == pytest.approx(4048.5, abs=0.5)


def test_a_percentile_is_told_only_of_rounds_that_have_a_request_beyond_it() -> None:
    few = summarise_round(np.arange(1.0, 100.0), TARGET, ALONE)
    enough = summarise_round(np.arange(1.0, 101.0), TARGET, ALONE)
    assert few.figure_us is None
    assert enough.figure_us == 99.0
    assert figure_us([few, enough]) is None
    assert summarise_round(np.array([]), TARGET, ALONE).figure_us is None
