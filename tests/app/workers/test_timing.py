"""Loops that time a lane: the same work in each, and no run after a pause among the measured."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, Limits, Progress
from app.cases.scenario import Scenario
from app.workers.lanes import Blocks, OneLane, SeveralLanes
from app.workers.loop import WAIT, Block, run_block
from app.workers.sampling import Sampler
from app.workers.system_counters import Watch
from app.workers.timing import Loop, loop_of, timing
from exporters.types import ExportedModel, load_reference
from runtimes.base import Runtime
from runtimes.fake import Fake
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.openvino.runtime import OpenVinoCpu
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from tests.app.workers.conftest import AXES
from tests.app.workers.test_lanes import Counting
from tests.runtimes.loop_in_c import NEEDS_C

SETS = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 10.0, 100.0)]


RUNTIMES = pytest.mark.parametrize("runtime", [OrtCpu(), OpenVinoCpu()], ids=lambda r: r.name)


@NEEDS_C
@RUNTIMES
@pytest.mark.parametrize(("call", "loop"), [("c", "C"), ("python", "Python"), ("auto", "C")])
def test_the_loop_that_was_asked_for_feeds_inputs_in_turn_and_states_go_on(
    counter: ExportedModel, runtime: Runtime, call: str, loop: Loop
) -> None:
    settings = Settings(threads=1, options={"call": call})
    with runtime.compile(counter, {"batch": 1}, settings) as session:
        (lane,) = session.lanes
        assert loop_of(lane, True, SETS) == loop
        lane.bind({**SETS[0], "total": np.zeros((1, 4), np.float32)})
        run_timed, block = timing(lane, 0, "spin", WAIT, True, SETS), Block(4)
        for count in (2, 1, 4):
            run_timed(block, count)
        assert lane.outputs()["total_out"][0, 0] == 111 + 111 + 1


@pytest.mark.alone
def test_feeding_back_the_state_is_never_timed() -> None:
    block = Block(20)
    run_block(block, repeat(int, 20), lambda: time.sleep(0.002), 0, WAIT["spin"])
    records = block.records(20, 1)
    latency = records["finished_ns"] - records["started_ns"]
    assert np.median(latency) < 1_000_000
    assert (np.diff(records["started_ns"]) > 2_000_000).all()


LIMITS = Limits(min_s=0.05, max_s=1.0, min_samples=50, warmup_min_s=0.01, warmup_max_s=0.3)


def test_limits_without_time_for_warm_up_have_none() -> None:
    lane, file = Counting(), io.BytesIO()
    one_lane = OneLane(lane, Scenario(), "spin", False, 5000.0)
    limits = replace(LIMITS, warmup_max_s=0.0)
    sampler = Sampler(one_lane, limits, file, Watch((0,)), lambda _: None, lambda: False)
    warm = sampler.warm_up()
    assert lane.runs == 0
    assert (warm.iterations, warm.settled) == (0, None)
    assert warm.median_ns >= 5000.0
    assert sampler.measure().iterations >= limits.min_samples


PAUSED = Limits(min_s=0.7, max_s=2.0, min_samples=6, warmup_min_s=0.1, warmup_max_s=0.3)


def pause(_: Progress) -> None:
    """What stands between blocks, made so long that no run could be as late by itself."""
    time.sleep(0.02)


@pytest.mark.alone
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
            sampler = Sampler(lanes, PAUSED, file, Watch((0,)), pause, lambda: False)
            sampler.warm_up()
            time.sleep(0.02)
            start_s = time.perf_counter()
            outcome = sampler.measure()
    records = np.frombuffer(file.getvalue(), RECORD)
    slow = records["finished_ns"] - records["started_ns"] > (latency_ms + 90) * 1e6
    assert np.count_nonzero(slow) >= sessions, "at least after the warm-up"
    assert not slow[records["phase"] == MEASURED].any()
    assert outcome.iterations >= PAUSED.min_samples
    assert time.perf_counter() - start_s < PAUSED.max_s + 0.5 + 3 * latency_ms / 1e3
