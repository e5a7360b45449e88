"""Stalls are told where they come at a beat, and not where slow runs come as they like.

Reduced: `python -m tests.benchmarks noticed` has the whole table.
"""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.patterns import Stalls, Timed, stalls
from tests.simulated.levels import ONE_LEVEL, back_to_back, with_stalls

RUNS, ROUNDS = 4_000, 3


def _find_stalls(*latencies_us: np.ndarray) -> Stalls | None:
    return stalls([Timed(*back_to_back(own), own, np.sort(own)) for own in latencies_us])


@pytest.mark.parametrize("name", ONE_LEVEL)
def test_slow_runs_that_come_by_chance_have_no_beat(name: str) -> None:
    rng = np.random.default_rng(21)
    for _ in range(20):
        assert _find_stalls(*(ONE_LEVEL[name](rng, RUNS) for _ in range(ROUNDS))) is None


@pytest.mark.parametrize(("stall_us", "period_us"), [(8_000.0, 20_000.0), (150.0, 4_000.0)])
def test_a_beat_is_told_with_its_period_its_stalls_and_their_share(
    stall_us: float, period_us: float
) -> None:
    rng = np.random.default_rng(22)
    plain = [25.0 * np.exp(0.05 * rng.standard_normal(RUNS)) for _ in range(ROUNDS)]
    stalled_rounds = [with_stalls(rng, latencies, stall_us, period_us) for latencies in plain]
    stalls_found = _find_stalls(*stalled_rounds)
    assert stalls_found is not None
    assert stalls_found.period_ns / 1e3 == pytest.approx(period_us, rel=0.01)
    assert stalls_found.typical == pytest.approx(stall_us, rel=0.05)
    lost_us = sum(latencies.sum() for latencies in stalled_rounds) - sum(
        latencies.sum() for latencies in plain
    )
    assert stalls_found.time_share == pytest.approx(
        lost_us / sum(latencies.sum() for latencies in stalled_rounds), rel=0.05
    )


def test_a_beat_is_found_among_small_slow_runs_that_have_none() -> None:
    rng = np.random.default_rng(23)
    stalled_rounds = [
        with_stalls(rng, ONE_LEVEL["rare spikes"](rng, RUNS), 5_000.0, 15_000.0)
        for _ in range(ROUNDS)
    ]
    result = _find_stalls(*stalled_rounds)
    assert result is not None
    assert result.period_ns / 1e3 == pytest.approx(15_000.0, rel=0.01)


def test_a_few_stalls_and_every_other_run_are_no_beat() -> None:
    few = np.full(RUNS, 25.0)
    few[::500] = 4_000.0
    assert _find_stalls(few) is None
    alternating = np.where(np.arange(RUNS) % 4 == 0, 400.0, 25.0 + 0.01 * (np.arange(RUNS) % 7))
    assert _find_stalls(alternating) is None
