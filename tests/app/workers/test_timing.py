"""Whichever loop times a lane, it runs the same work, and the row says which it was."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from itertools import pairwise, repeat

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP, Limits, Progress
from app.cases.scenario import Scenario
from app.workers.lanes import OneLane
from app.workers.loop import WAIT, Block, run_block
from app.workers.sampling import Sampler
from app.workers.system_counters import Watch
from app.workers.timing import Loop, loop_of, timing
from exporters import install_layout
from exporters.types import ExportedModel
from runtimes.base import Arrays, Lane, Runtime
from runtimes.calls import timed
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.openvino.runtime import OpenVinoCpu
from runtimes.options import Settings

SETS = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 10.0, 100.0)]


RUNTIMES = pytest.mark.parametrize("runtime", [OrtCpu(), OpenVinoCpu()], ids=lambda r: r.name)


LOOPS = pytest.mark.parametrize("call", ["c", "python"])


MARK_TIMING = pytest.mark.skipif(
    not timed.built(), reason=f"the loop in C was not built; {install_layout.COMPILER_REMEDY}"
)


def settings(call: str) -> Settings:
    return Settings(threads=1, options={"call": call})


def total_after(runtime: Runtime, counter: ExportedModel, call: str, blocks: list[int]) -> float:
    """What the model has counted to after blocks of so many runs, with inputs fed in turn."""
    with runtime.compile(counter, {"batch": 1}, settings(call)) as session:
        (lane,) = session.lanes
        lane.bind({**SETS[0], "total": np.zeros((1, 4), np.float32)})
        time = timing(lane, 0, "spin", WAIT, True, SETS)
        block = Block(max(blocks))
        for count in blocks:
            time(block, count)
        return float(lane.outputs()["total_out"][0, 0])


@MARK_TIMING
@RUNTIMES
@LOOPS
def test_inputs_are_fed_in_turn_and_states_go_on_from_block_to_block(
    counter: ExportedModel, runtime: Runtime, call: str
) -> None:
    assert total_after(runtime, counter, call, [2, 1, 4]) == 111 + 111 + 1


@MARK_TIMING
@RUNTIMES
@pytest.mark.parametrize(("call", "loop"), [("c", "C"), ("python", "Python"), ("auto", "C")])
def test_the_loop_is_the_one_that_was_asked_for(
    counter: ExportedModel, runtime: Runtime, call: str, loop: Loop
) -> None:
    with runtime.compile(counter, {"batch": 1}, settings(call)) as session:
        assert loop_of(session.lanes[0], True, SETS) == loop


MARK_LOOP = pytest.mark.alone


@MARK_LOOP
def test_feeding_back_the_state_is_never_timed() -> None:
    block = Block(20)
    run_block(block, repeat(int, 20), lambda: time.sleep(0.002), 0, WAIT["spin"])
    records = block.records(20, 1)
    latency = records["finished_ns"] - records["started_ns"]
    assert np.median(latency) < 1_000_000
    assert (np.diff(records["started_ns"]) > 2_000_000).all()


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
