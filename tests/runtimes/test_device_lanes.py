"""Lanes on a device keep the contract, whichever engine computes: over stand-ins for the GPU."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from runtimes.base import Session
from runtimes.execution import Boundary
from runtimes.options import Settings
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.contract import agrees, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import HostMemory, on_host
from tests.runtimes.pytorch.host_place import HostPlace
from tests.runtimes.pytorch.host_place import opened as opened_by_torch
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
