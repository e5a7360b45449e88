"""A sustained round lasts as long as it is told to, and keeps no more runs than a folder holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP
from app.cases.scenario import Condition
from app.sweep.scheduling.round_jobs import condition_obstacle, limits_under
from app.workers.sampling import MAXIMUM_SAMPLES, downsample, sampling_rate
from runtimes.fake.runtime import Fake
from runtimes.fpga.runtime import Fpga
from tests.app.workers.conftest import SHORT, Measure

SUSTAINED = Condition.parse("sustained:3s")


def block(runs: int, warming: int = 5) -> np.ndarray:
    """Runs of a microsecond, one after another."""
    records = np.zeros(runs, RECORD)
    records["started_ns"] = np.arange(runs) * 1000
    records["finished_ns"] = records["started_ns"] + 1000
    records["phase"] = MEASURED
    records["phase"][:warming] = WARMUP
    return records


def test_its_time_ends_the_round_whatever_the_profile_says() -> None:
    limits = limits_under(SUSTAINED, SHORT)
    assert limits == replace(SHORT, min_s=3.0, max_s=3.0, min_samples=1)
    assert limits_under(Condition.parse("cold:1MB"), SHORT) == SHORT


def test_a_card_that_is_simulated_does_not_warm_up() -> None:
    assert "a simulated card is as fast under sustained:3s" in condition_obstacle(SUSTAINED, Fpga())
    assert condition_obstacle(SUSTAINED, Fake()) == ""


def test_half_an_hour_of_short_runs_keeps_what_a_folder_holds() -> None:
    per_s = sampling_rate(Condition.parse("sustained:30min"))
    assert per_s * 1800 == pytest.approx(MAXIMUM_SAMPLES)
    records = block(200_000)
    sample = downsample(records, per_s)
    assert len(sample) == int(per_s * 0.2)
    assert (np.diff(sample["started_ns"]) > 0).all(), "in their order"
    assert (sample["phase"] == MEASURED).all()
    halves = np.count_nonzero(sample["started_ns"] < 100_000_000) / len(sample)
    assert halves == pytest.approx(0.5, abs=0.1), "evenly over the time"


def test_every_run_is_kept_where_there_are_not_too_many() -> None:
    records = block(100)
    assert downsample(records, sampling_rate(Condition())) is records
    assert downsample(records, 1e6) is records


def test_both_ends_are_told_with_the_machine_beside_them(measure: Measure) -> None:
    limits = limits_under(Condition.parse("sustained:1s"), SHORT)
    result, _, _ = measure("fake", condition="sustained:1s", limits=limits)
    assert (result.status, result.stop_reason) == ("ok", "max_time")
    assert result.duration_s >= 1.0
    assert result.facts["sampled_fraction"] == 1.0
