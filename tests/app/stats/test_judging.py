"""Whether a rate keeps a target: what rounds must show before either is said."""

from __future__ import annotations

import numpy as np
import pytest

from app.capabilities.slo_search.estimate import (
    FIRST_LOOK,
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
from app.cases.objectives import Target
from tests.simulated.servers import SERVERS

TARGET = Target(99.0, 5000.0)
ALONE = 1.0
"""A request that is late makes no other one late."""


def rounds_of(share: float, requests: int, count: int) -> list[RateRound]:
    """Rounds alike, whose late requests come at random."""
    return [RateRound(requests, requests, round(share * requests), 4000.0)] * count


@pytest.mark.parametrize(("share", "verdict"), [(0.002, "holds"), (0.03, "breaks")])
def test_what_is_clear_is_said_at_the_first_look(share: float, verdict: str) -> None:
    assert judge_rate(rounds_of(share, 2000, FIRST_LOOK), TARGET) == verdict
    assert judge_rate(rounds_of(share, 2000, FIRST_LOOK - 1), TARGET) is None


def test_what_is_not_clear_has_more_rounds_and_then_stays_undecided() -> None:
    assert judge_rate(rounds_of(0.01, 2000, FIRST_LOOK), TARGET) is None
    assert judge_rate(rounds_of(0.01, 2000, 8), TARGET) == "undecided"
    assert judge_rate(rounds_of(0.01, 2000, 3), TARGET, maximum=3) == "undecided"


def test_none_late_of_a_few_is_no_proof() -> None:
    """Of 367 requests of which 1 % are late, none is late once in 40 times; so 368 are needed."""
    assert judge_rate(rounds_of(0.0, 91, 4), TARGET, maximum=4) == "undecided"
    assert judge_rate(rounds_of(0.0, 92, 4), TARGET, maximum=4) == "holds"


def test_requests_that_are_late_together_count_once() -> None:
    latencies = np.full(2000, 1000.0)
    scattered_latency, clustered_latency = latencies.copy(), latencies.copy()
    scattered_latency[::100] = 9000.0
    for begin in (500, 1500):
        clustered_latency[begin : begin + 10] = 9000.0
    assert summarise_round(scattered_latency, TARGET, ALONE).independent == 2000
    summary = summarise_round(clustered_latency, TARGET, ALONE)
    assert summary.late == 20
    assert summary.independent < 500


def test_a_long_queue_is_late_for_long_even_where_a_round_does_not_show_it() -> None:
    latencies = np.full(2000, 1000.0)
    dispersion_factor = dispersion(TARGET, 10_000.0, 0.95)
    assert dispersion_factor > 100.0
    assert summarise_round(latencies, TARGET, dispersion_factor).independent < 20.0


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
    equal_interval = interval(rounds_of(0.01, 2000, 8), TARGET)
    assert equal_interval is not None
    assert equal_interval.low < 0.01 < equal_interval.high
    differing = [RateRound(2000, 2000.0, late, 4000.0) for late in (0, 40) * 4]
    wider = interval(differing, TARGET)
    assert wider is not None
    assert late_share(differing) == pytest.approx(0.01)
    assert wider.width > equal_interval.width
    assert interval(rounds_of(0.01, 2000, 2), TARGET) is None


def test_all_late_is_a_share_of_one() -> None:
    share_interval = interval(rounds_of(1.0, 500, 4), TARGET)
    assert share_interval is not None
    assert share_interval.high == 1.0
    assert share_interval.low > 0.99


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
