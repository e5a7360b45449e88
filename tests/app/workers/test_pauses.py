"""Runs that follow a pause, of a runtime that is slow then, are never among the measured."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, Limits, Progress
from app.cases.scenario import Scenario
from app.workers.lanes import Blocks, OneLane, SeveralLanes
from app.workers.sampling import Sampler
from app.workers.system_counters import Watch
from exporters.types import ExportedModel, load_reference
from runtimes.fake.runtime import Fake
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from tests.app.workers.conftest import AXES

pytestmark = pytest.mark.alone
LIMITS = Limits(min_s=0.7, max_s=2.0, min_samples=6, warmup_min_s=0.1, warmup_max_s=0.3)


def pause(_: Progress) -> None:
    """What stands between blocks, made so long that no run could be as late by itself."""
    time.sleep(0.02)


@pytest.mark.parametrize("sessions", [1, 2])
@pytest.mark.parametrize("latency_ms", [5, 210], ids=["many in a block", "longer than a block"])
def test_the_first_run_after_a_pause_never_counts(
    counter: ExportedModel, latency_ms: int, sessions: int
) -> None:
    options: dict[str, OptionValue] = {
        "latency_us": 1e3 * latency_ms,
        "after_pause_us": 1e5,
        "wait": "sleep",
        "sessions": sessions,
    }
    file, start_s = io.BytesIO(), 0.0
    with compile_sessions(Fake(), counter, AXES, Settings(options=options)) as session:
        for lane in session.lanes:
            lane.bind(load_reference(next(iter(counter.references.values()))).inputs)
        lanes: Blocks = (
            SeveralLanes(session.lanes, Scenario(), "spin", True, 1e6 * latency_ms)
            if sessions > 1
            else OneLane(session.lanes[0], Scenario(), "spin", True, 1e6 * latency_ms)
        )
        with lanes:
            sampler = Sampler(lanes, LIMITS, file, Watch((0,)), pause, lambda: False)
            sampler.warm_up()
            time.sleep(0.02)
            start_s = time.perf_counter()
            outcome = sampler.measure()
    records = np.frombuffer(file.getvalue(), RECORD)
    slow = records["finished_ns"] - records["started_ns"] > (latency_ms + 90) * 1e6
    assert np.count_nonzero(slow) >= sessions, "at least after the warm-up"
    assert not slow[records["phase"] == MEASURED].any()
    assert outcome.iterations >= LIMITS.min_samples
    assert time.perf_counter() - start_s < LIMITS.max_s + 0.5 + 3 * latency_ms / 1e3
