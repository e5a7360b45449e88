"""Lanes on a device keep the contract, whichever engine computes: over stand-ins for the GPU."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest

from exporters.types import ExportedModel, StatePair
from runtimes.base import Session
from runtimes.errors import RunFault, Unsupported
from runtimes.execution import Boundary
from runtimes.options import Settings
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.contract import agrees, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import HostMemory, on_host
from tests.runtimes.pytorch.host_place import HostPlace
from tests.runtimes.pytorch.host_place import opened as opened_by_torch
from tests.runtimes.stand_ins.fixtures import Driver
from tests.runtimes.stepped import streams

BOUNDARIES = get_args(Boundary)


def opened(engine: str, model: Any, batch: int, boundary: Boundary, **options: Any) -> Session:
    if engine == "onnxruntime":
        return on_host(model, batch, boundary, **options)
    if engine == "pytorch":
        return opened_by_torch(model, boundary, **options)
    settings = Settings(options={"boundary": boundary, **options})
    return TensorRt().compile(model, {"batch": batch}, settings)


@pytest.mark.usefixtures("tensorrt")
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("cuda_graph", [False, True])
@pytest.mark.parametrize(
    ("engine", "batch"),
    [("onnxruntime", 1), ("onnxruntime", 3), ("pytorch", 1), ("tensorrt", 1), ("tensorrt", 3)],
)
def test_it_agrees_and_streams_and_a_run_that_writes_nothing_shows(
    graphs: Graphs, engine: str, batch: int, boundary: Boundary, cuda_graph: bool
) -> None:
    for model in (graphs.dense, graphs.step, graphs.lookup):
        reference = reference_of(model, batch)
        with opened(engine, model, batch, boundary, cuda_graph=cuda_graph) as session:
            (lane,) = session.lanes
            assert computes(lane, reference)
            lane.poison()
            poisoned = lane.outputs()
            assert not agrees(poisoned, reference)
            for name, array in reference.outputs.items():
                # torch's module gives an input back as it is.
                assert engine == "pytorch" or not np.array_equal(poisoned[name], array)
            lane.run()
            assert agrees(lane.outputs(), reference)
    with opened(engine, graphs.step, 1, boundary, cuda_graph=cuda_graph) as session:
        assert streams(session.lanes[0])


@pytest.mark.parametrize("engine", ["onnxruntime", "pytorch"])
@pytest.mark.parametrize(
    ("boundary", "host_memory", "locked"),
    [("host", "pinned", 2), ("host", "pageable", 0), ("device", "pinned", 0)],
)
def test_what_a_run_copies_from_and_to_is_locked_as_asked_and_what_stages_is_not(
    graphs: Graphs, engine: str, boundary: Boundary, host_memory: str, locked: int
) -> None:
    place: Any = HostMemory() if engine == "onnxruntime" else HostPlace()
    kept = {"memory" if engine == "onnxruntime" else "place": place, "host_memory": host_memory}
    with opened(engine, graphs.dense, 1, boundary, **kept) as session:
        assert place.locked == locked
        assert computes(session.lanes[0], reference_of(graphs.dense, 1))


def finder(graphs: Graphs) -> ExportedModel:
    """Where x is not zero, x without what is negative, and a state that x becomes."""
    ends = ", ".join(f"float[batch,4] {name}" for name in ("y", "older_out", "oldest"))
    text = f"""(float[batch,4] x, float[batch,4] older) => (int64[2,found] where, {ends}) {{
        where = NonZero(x) y = Relu(x) older_out = Identity(x) oldest = Identity(older)
    }}"""
    model = graphs.of_text("finder", text)
    return replace(model, states=(StatePair("older", "older_out"),))


@pytest.mark.parametrize(
    ("engine", "most_bytes"),
    [("onnxruntime", 0), ("tensorrt", 1024), ("tensorrt", 8), ("tensorrt", -1)],
    ids=["onnxruntime", "room", "too little", "not told"],
)
def test_what_each_run_finds_is_told_whole_on_the_host(
    graphs: Graphs,
    tensorrt: ModuleType,
    driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    most_bytes: int,
) -> None:
    monkeypatch.setattr(tensorrt.IExecutionContext, "_most_bytes", most_bytes)
    with opened(engine, finder(graphs), 2, "host") as session:
        (lane,) = session.lanes
        assert lane.enqueue is None, "the shape is waited for"
        older = np.full((2, 4), 7, np.float32)
        for share in (0.3, 1.0, 0.0, 0.6):
            x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
            x[np.random.default_rng(2).random((2, 4)) >= share] = 0
            lane.bind({"x": x, "older": older})
            lane.poison()
            assert "where" not in lane.outputs()
            lane.run()
            outputs = lane.outputs()
            assert np.array_equal(outputs["where"], np.array(np.nonzero(x)))
            assert np.array_equal(outputs["y"], np.maximum(x, 0))
            assert np.array_equal(outputs["oldest"], older)
        lane.advance()
        lane.run()
        assert np.array_equal(lane.outputs()["oldest"], x)
    assert driver.live == 0
    with pytest.raises(RunFault):
        lane.run()


@pytest.mark.usefixtures("tensorrt")
@pytest.mark.parametrize(
    ("engine", "boundary", "cuda_graph"),
    [("onnxruntime", "device", False), ("tensorrt", "device", False), ("tensorrt", "host", True)],
)
def test_nothing_can_be_laid_out_for_it_on_the_device_or_recorded(
    graphs: Graphs, driver: Driver, engine: str, boundary: Boundary, cuda_graph: bool
) -> None:
    with pytest.raises(Unsupported, match="'where' is known only after a run"):
        opened(engine, finder(graphs), 1, boundary, cuda_graph=cuda_graph)
    assert driver.live == 0
