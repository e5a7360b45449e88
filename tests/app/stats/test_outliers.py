"""A slow run is laid at the door of what came in its block, and of nothing that did not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.cases.telemetry import Disturbance
from app.stats.patterns import outlier_causes, outlier_mask
from runtimes.execution import Samples

BLOCK_NS = 100_000_000


def timed(*slow: tuple[int, float]) -> Samples:
    """Two blocks of 1,000 runs of some 50 us, of which those at `slow` took so many ms."""
    latency = np.random.default_rng(5).normal(50_000, 500, 2000).astype(np.int64)
    started_ns = np.arange(2000, dtype=np.int64) * (BLOCK_NS // 1000)
    for place, ms in slow:
        latency[place] = ms * 1e6
    return Samples(started_ns, started_ns, started_ns + latency, "wall")


def first(**causes: float) -> Disturbance:
    return Disturbance(0, BLOCK_NS, **causes)  # type: ignore[arg-type]


def test_where_nothing_was_seen_nothing_is_blamed() -> None:
    assert outlier_causes(timed((5, 4.0), (900, 1.0)), ()) == {"unseen": 2}
    assert outlier_causes(timed(), [first(involuntary_switches=9)]) == {}


def test_a_switch_explains_one_run_of_its_own_block_and_the_slowest() -> None:
    slow = timed((5, 4.0), (6, 1.0), (7, 0.4), (1500, 9.0))
    causes = outlier_causes(slow, [first(involuntary_switches=2)])
    assert causes == {"switch": 2, "unseen": 2}


def test_stolen_time_explains_no_more_than_was_stolen() -> None:
    slow = timed((5, 15.0), (6, 90.0), (1500, 9.0))
    assert outlier_causes(slow, [first(steal_ms=10.0)]) == {"steal": 1, "unseen": 2}
    many = timed(*((place, 0.5) for place in range(100, 200)))
    causes = outlier_causes(many, [first(steal_ms=10.0)])
    assert 40 <= causes["steal"] <= 20 / 0.44, "some 0.45 ms each, of one tick and at most one more"


def test_a_run_that_was_a_little_late_did_not_lose_its_core() -> None:
    many = timed(*((place, 0.09) for place in range(100, 150)))
    assert outlier_causes(many, [first(steal_ms=10.0)]) == {"unseen": 50}


def test_each_run_has_one_cause() -> None:
    slow = timed((5, 8.0), (6, 4.0), (7, 2.0), (8, 1.0))
    disturbance = first(steal_ms=0.0, involuntary_switches=1, major_faults=1, low_clock=True)
    assert outlier_causes(slow, [disturbance]) == {"switch": 1, "page fault": 1, "clock": 2}


def test_a_storm_of_interrupts_is_named_for_its_block_alone() -> None:
    slow = timed((5, 8.0), (1500, 4.0))
    assert outlier_causes(slow, [first(many_interrupts=True)]) == {"interrupts": 1, "unseen": 1}


def test_a_round_without_runs_has_no_outliers() -> None:
    none = np.zeros(0, np.int64)
    assert outlier_causes(Samples(none, none, none, "wall"), [first(low_clock=True)]) == {}


def test_a_large_shape_is_slow_by_nature_and_no_outlier() -> None:
    shapes = np.array([0, 0, 0, 1] * 100)
    latency = np.where(shapes == 1, 50_000, 1_000) + np.arange(400) % 7
    latency[200] = 9_000
    times = np.zeros(400, np.int64)
    samples = Samples(times, times, latency, "wall", shapes=shapes)
    assert np.flatnonzero(outlier_mask(samples)).tolist() == [200]
    assert np.count_nonzero(outlier_mask(replace(samples, shapes=None))) >= 100
