"""The arrivals of an open loop: as often as asked for, drawn alike from a seed, named by a hash."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.cases.scenario import Scenario
from app.stats.open_loop import arrivals_ns, schedule_sha256


def test_even_arrivals_lie_one_gap_apart() -> None:
    arrivals = arrivals_ns(Scenario.parse("rate:3/s"), 2.0, 0)
    assert arrivals.tolist() == [
        333_333_333,
        666_666_667,
        1_000_000_000,
        1_333_333_333,
        1_666_666_667,
        2_000_000_000,
    ]


def test_a_burst_arrives_at_one_time() -> None:
    arrivals = arrivals_ns(Scenario.parse("burst:3@10ms"), 0.025, 0)
    assert arrivals.tolist() == [10_000_000] * 3 + [20_000_000] * 3


def test_drawn_arrivals_are_a_poisson_process() -> None:
    arrivals = arrivals_ns(Scenario.parse("poisson:1000/s"), 100.0, 7)
    count, gaps = len(arrivals), np.diff(arrivals) / 1e6
    assert abs(count - 100_000) < 4 * math.sqrt(100_000)
    assert np.all(gaps >= 0)
    # Exponential: the deviation is the mean, and a gap outlasts it once in e times.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)
    assert np.mean(gaps > gaps.mean()) == pytest.approx(1 / math.e, abs=0.01)


def test_a_seed_draws_the_same_again_and_another_does_not() -> None:
    scenario = Scenario.parse("poisson:50/s")
    first, again, other = (schedule_sha256(arrivals_ns(scenario, 3.0, s)) for s in (1, 1, 2))
    assert first == again != other
    assert len(first) == 64


def test_a_closed_loop_has_no_arrivals() -> None:
    with pytest.raises(ValueError, match="fixed beforehand"):
        arrivals_ns(Scenario(), 1.0, 0)
