"""Runs queued ahead: the driver is asked for all of them, and then to wait once."""

from __future__ import annotations

from types import ModuleType

import pytest

from app.workers.lanes import queued_timing
from app.workers.loop import Block
from runtimes.options import OptionValue, Settings
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import Driver

RUNS, SAMPLES = 5, 3


@pytest.mark.parametrize(
    ("boundary", "cuda_graph", "run"),
    [("host", False, "ixo"), ("device", False, "x"), ("host", True, "g"), ("device", True, "g")],
)
@pytest.mark.parametrize("call", ["auto", "python"])
def test_each_sample_is_so_many_runs_and_one_wait(
    graphs: Graphs,
    tensorrt: ModuleType,
    driver: Driver,
    boundary: str,
    cuda_graph: bool,
    run: str,
    call: str,
) -> None:
    options: dict[str, OptionValue] = {"boundary": boundary, "cuda_graph": cuda_graph, "call": call}
    reference = reference_of(graphs.dense, 1)
    with TensorRt().compile(graphs.dense, {"batch": 1}, Settings(options=options)) as session:
        (lane,) = session.lanes
        lane.bind(reference.inputs)
        lane.poison()
        time, block = queued_timing(lane, RUNS), Block(SAMPLES)
        driver.told()
        time(block, SAMPLES)
        assert driver.told() == (run * RUNS + "w") * SAMPLES
        assert agrees(lane.outputs(), reference)
    records = block.records(SAMPLES, 0)
    assert (records["finished_ns"] > records["started_ns"]).all()
    assert (records["started_ns"][1:] >= records["finished_ns"][:-1]).all()
