"""Between two runs the next inputs are fed and states go back; neither is inside the clock."""

from __future__ import annotations

import numpy as np
import pytest

from app.workers.timing import inter_run_call
from exporters.types import ExportedModel
from runtimes.base import Runtime
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.openvino.runtime import OpenVinoCpu
from runtimes.options import Settings

SETS = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 10.0, 100.0)]


@pytest.mark.parametrize("runtime", [OrtCpu(), OpenVinoCpu()], ids=lambda runtime: runtime.name)
def test_inputs_are_fed_in_turn_while_states_go_on(
    counter: ExportedModel, runtime: Runtime
) -> None:
    with runtime.compile(counter, {"batch": 1}, Settings(threads=1)) as session:
        (lane,) = session.lanes
        lane.bind({**SETS[0], "total": np.zeros((1, 4), np.float32)})
        prepare = inter_run_call(lane, True, SETS)
        assert prepare is not None
        outputs = []
        for _ in range(5):
            lane.run()
            outputs.append(lane.outputs()["y"][0, 0])
            prepare()
    assert outputs == [1, 11, 111, 112, 122]


def test_without_states_or_sets_nothing_is_done_between_runs(counter: ExportedModel) -> None:
    with OrtCpu().compile(counter, {"batch": 1}, Settings(threads=1)) as session:
        assert inter_run_call(session.lanes[0], False, ()) is None
