"""Warm-up and measurement in blocks, on a session whose every call is counted."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP, Limits, Progress
from app.cases.scenario import Scenario
from app.workers.lanes import OneLane
from app.workers.sampling import Sampler
from app.workers.system_counters import Watch
from runtimes.base import Arrays, Lane

LIMITS = Limits(min_s=0.05, max_s=1.0, min_samples=50, warmup_min_s=0.01, warmup_max_s=0.3)


class Counting(Lane):
    """Counts its runs and its steps of state, in the order in which they come."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.run = lambda: self.made.append("run")

    def bind(self, inputs: Arrays) -> None: ...

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def poison(self) -> None: ...

    def advance(self) -> None:
        self.made.append("advance")


def sample(streaming: bool) -> tuple[Counting, np.ndarray, list[Progress], int]:
    lane, file = Counting(), io.BytesIO()
    events: list[Progress] = []
    sampled_lane = OneLane(lane, Scenario(), "spin", streaming, 1000.0)
    sampler = Sampler(sampled_lane, LIMITS, file, Watch((0,)), events.append, lambda: False)
    sampler.warm_up()
    result = sampler.measure()
    records = np.frombuffer(file.getvalue(), RECORD)
    return lane, records, events, result.iterations


def test_a_streaming_model_advances_its_state_after_every_run() -> None:
    lane, records, _, _ = sample(streaming=True)
    assert lane.made == ["run", "advance"] * len(records)


def test_a_model_without_state_is_only_run() -> None:
    lane, records, _, _ = sample(streaming=False)
    assert lane.made == ["run"] * len(records)


def test_limits_without_time_for_warm_up_have_none() -> None:
    lane, file = Counting(), io.BytesIO()
    one_lane = OneLane(lane, Scenario(), "spin", False, 5000.0)
    limits = replace(LIMITS, warmup_max_s=0.0)
    sampler = Sampler(one_lane, limits, file, Watch((0,)), lambda _: None, lambda: False)
    warm = sampler.warm_up()
    assert lane.made == []
    assert (warm.iterations, warm.settled) == (0, None)
    assert warm.median_ns >= 5000.0
    assert sampler.measure().iterations >= limits.min_samples


@pytest.mark.alone
def test_what_stands_between_blocks_is_followed_by_runs_that_do_not_count() -> None:
    lane, file, pauses = Counting(), io.BytesIO(), [0]
    sampled_lane = OneLane(lane, Scenario(), "spin", False, 1000.0)

    def note(_: Progress) -> None:
        pauses.append(len(lane.made))

    limits = replace(LIMITS, min_s=0.7)
    sampler = Sampler(sampled_lane, limits, file, Watch((0,)), note, lambda: False)
    sampler.warm_up()
    sampler.measure()
    records = np.frombuffer(file.getvalue(), RECORD)
    assert len(pauses) > 3
    for first, end in pairwise(pauses):
        counting = records["phase"][first:end] == MEASURED
        assert not counting[0]
        assert counting[5:].all() or not counting.any(), "no more than five are lost"
    assert records["phase"][0] == WARMUP


def test_every_run_is_recorded_and_the_measured_ones_are_marked() -> None:
    lane, records, events, iterations = sample(streaming=False)
    assert len(records) == len(lane.made)
    assert np.count_nonzero(records["phase"] == MEASURED) == iterations >= LIMITS.min_samples
    assert events[-1].phase == "measure"
    assert events[-1].iterations == iterations
    assert events[-1].p50_ns is not None
