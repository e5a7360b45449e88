"""Whichever loop times a lane, it runs the same work, and the row says which it was."""

from __future__ import annotations

import numpy as np
import pytest

from app.workers.loop import WAIT, Block
from app.workers.timing import Loop, loop_of, timing
from exporters import install_layout
from exporters.types import ExportedModel
from runtimes.base import Runtime
from runtimes.calls import timed
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.openvino.runtime import OpenVinoCpu
from runtimes.options import Settings
from tests.app.workers.conftest import Measure

SETS = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 10.0, 100.0)]
RUNTIMES = pytest.mark.parametrize("runtime", [OrtCpu(), OpenVinoCpu()], ids=lambda r: r.name)
LOOPS = pytest.mark.parametrize("call", ["c", "python"])

pytestmark = pytest.mark.skipif(
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


@RUNTIMES
@LOOPS
def test_inputs_are_fed_in_turn_and_states_go_on_from_block_to_block(
    counter: ExportedModel, runtime: Runtime, call: str
) -> None:
    assert total_after(runtime, counter, call, [2, 1, 4]) == 111 + 111 + 1


@RUNTIMES
@pytest.mark.parametrize(("call", "loop"), [("c", "C"), ("python", "Python"), ("auto", "C")])
def test_the_loop_is_the_one_that_was_asked_for(
    counter: ExportedModel, runtime: Runtime, call: str, loop: Loop
) -> None:
    with runtime.compile(counter, {"batch": 1}, settings(call)) as session:
        assert loop_of(session.lanes[0], True, SETS) == loop


@LOOPS
def test_a_row_says_which_loop_timed_it(measure: Measure, call: str) -> None:
    result, _, _ = measure(options={"call": call})
    assert (result.status, result.reason) == ("ok", "")
    assert result.call_path.endswith({"c": "timed in C", "python": "timed in Python"}[call])
    assert result.options["call"] == call


@LOOPS
def test_several_lanes_count_the_runs_in_company_in_either_loop(
    measure: Measure, call: str
) -> None:
    result, records, _ = measure(options={"call": call, "sessions": 2})
    assert (result.status, result.reason, result.concurrency) == ("ok", "", 2)
    assert set(records["lane"].tolist()) == {0, 1}
    assert result.check is not None
    assert result.check.output_ok
