"""A state that has run away, or died away, while it was timed is told of on the row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.workers.execution_facts import state_diagnostics
from exporters.diagnostics.catalogue import codes, diagnostic
from exporters.types import ExportedModel, Reference, StatePair, axes_key, save_reference
from runtimes.session.host import HostLane
from tests.app.workers.conftest import AXES, Measure


def growing(counter: ExportedModel, folder: Path, factor: float, first: float) -> ExportedModel:
    """`total` becomes `factor` times as much with each run."""
    proto = onnx.load(counter.path)
    del proto.graph.node[0]
    proto.graph.node.insert(0, helper.make_node("Mul", ["total", "factor"], ["total_out"]))
    proto.graph.node.append(helper.make_node("Relu", ["x"], ["unused"]))
    array = np.array(factor, np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(array, "factor"))
    assert proto.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
    path = folder / f"growing_{factor}.onnx"
    onnx.save(proto, path)
    x, total = np.ones((1, 4), np.float32), np.full((1, 4), first, np.float32)
    reference = folder / f"growing_{factor}.npz"
    following = total * array
    outputs = {"y": following, "total_out": following}
    save_reference(str(reference), Reference({"x": x, "total": total}, outputs))
    return replace(counter, path=str(path), references={axes_key(AXES): str(reference)})


@pytest.mark.parametrize(
    ("runtime", "options"),
    [
        ("ort-cpu", {}),
        ("ort-cpu", {"call": "python"}),
        ("ort-cpu", {"sessions": 2}),
        ("openvino-cpu", {}),
    ],
)
def test_a_state_that_runs_away_is_a_warning(
    runtime: str,
    options: dict[str, object],
    counter: ExportedModel,
    measure: Measure,
    tmp_path: Path,
) -> None:
    model = growing(counter, tmp_path, 1e9, 1.0)
    result, _, _ = measure(runtime, model=model, options=options)
    assert result.status == "ok"
    assert diagnostic("state_not_finite", "total") in result.warnings


def test_a_state_that_dies_away_is_a_warning(
    counter: ExportedModel, measure: Measure, tmp_path: Path
) -> None:
    result, _, _ = measure(model=growing(counter, tmp_path, 1.0, 1e-40))
    assert diagnostic("state_subnormal", "total") in result.warnings


@pytest.mark.parametrize("scenario", ["closed_loop", "rate:500/s"])
def test_an_ordinary_state_is_none(
    scenario: str, counter: ExportedModel, measure: Measure, tmp_path: Path
) -> None:
    result, _, _ = measure(model=growing(counter, tmp_path, 1.0, 2.0), scenario=scenario)
    assert result.status == "ok"
    assert not {"state_not_finite", "state_subnormal"} & {*codes(result.warnings)}


@pytest.mark.parametrize(
    ("values", "dtype", "strange"),
    [
        ([0, 1, -1], "float32", False),
        ([1, np.nan], "float16", True),
        ([1, -np.inf], "float64", True),
        ([1, 1e-7], "float16", True),
        ([1, 1e-7], "float32", False),
        ([1, 2], "int64", False),
        ([], "float32", False),
    ],
)
def test_any_lane_and_any_type(values: list[float], dtype: str, strange: bool) -> None:
    pair = StatePair("s", "t")
    lanes = [HostLane({}, {"t": np.zeros(3, dtype)}, (pair,)) for _ in range(2)]
    lanes[1].output_buffers["t"] = np.array(values, dtype)
    assert bool([*state_diagnostics(lanes, [pair])]) == strange
