"""Outputs whose shapes a run finds: whole at the host's boundary, refused where that can't be."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from app.contract.graphs import node
from exporters.types import ExportedModel
from runtimes.errors import Unsupported
from runtimes.options import OptionValue, Settings
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.graphs import Graphs, vector
from tests.runtimes.stand_ins.fixtures import Driver


def finder(graphs: Graphs) -> ExportedModel:
    """Where x is not zero, and x itself without what is negative."""
    nodes = [node("NonZero", ["x"], ["where"]), node("Relu", ["x"], ["y"])]
    outputs = [vector("where", "int64", 2, "found"), vector("y", "float32", "batch", 4)]
    return graphs.save(
        "finder", nodes, [vector("x", "float32", "batch", 4)], outputs, axes={"batch": 1}
    )


@pytest.mark.parametrize("most_bytes", [1024, 8, -1], ids=["room", "too little", "not told"])
def test_what_each_run_finds_is_told_whole(
    graphs: Graphs,
    tensorrt: ModuleType,
    driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
    most_bytes: int,
) -> None:
    monkeypatch.setattr(tensorrt.IExecutionContext, "_most_bytes", most_bytes)
    with TensorRt().compile(finder(graphs), {"batch": 2}, Settings()) as session:
        (lane,) = session.lanes
        assert lane.enqueue is None, "the shape is waited for"
        for share in (0.3, 1.0, 0.0, 0.6):
            x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
            x[np.random.default_rng(2).random((2, 4)) >= share] = 0
            lane.bind({"x": x})
            lane.run()
            outputs = lane.outputs()
            assert np.array_equal(outputs["where"], np.array(np.nonzero(x)))
            assert np.array_equal(outputs["y"], np.maximum(x, 0))
        lane.poison()
        assert lane.outputs().keys() == {"y"}
        lane.run()
        assert np.array_equal(lane.outputs()["where"], np.array(np.nonzero(x)))
    assert driver.live == 0


@pytest.mark.parametrize(
    ("options", "remedy"),
    [({"boundary": "device"}, "boundary=host"), ({"cuda_graph": True}, "cuda_graph=0")],
)
def test_nothing_can_be_laid_out_for_it_on_the_device_or_recorded(
    graphs: Graphs,
    tensorrt: ModuleType,
    driver: Driver,
    options: dict[str, OptionValue],
    remedy: str,
) -> None:
    with pytest.raises(Unsupported, match="'where' is known only after a run") as exc_info:
        TensorRt().compile(finder(graphs), {"batch": 1}, Settings(options=options))
    assert remedy in exc_info.value.remedy
    assert driver.live == 0
