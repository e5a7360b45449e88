"""Outputs of indices: where two values lie within the tolerance either may be chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from app.workers.output_check import check_outputs
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, Reference, load_reference
from exporters.worker.export import export
from tests.exporters.graphs import graph, tensor

VALUES = np.array([[0.1, 0.9, 0.89, 0.2], [5.0, 1.0, 4.99, -3.0]], np.float32)
ARGMAX: dict[str, Any] = {"axis": 1, "keepdims": 0}


def reference_of(tmp_path: Path, nodes: list[NodeProto], y: Any) -> tuple[ExportedModel, Reference]:
    path = tmp_path / "choice.onnx"
    onnx.save(graph(nodes, [tensor("x", [2, 4])], [y], {"k": np.array([2])}), path)
    np.savez(tmp_path / "in.npz", x=VALUES)
    request = ExportRequest(
        str(path), inputs=str(tmp_path / "in.npz"), cache_dir=str(tmp_path / "cache")
    )
    model, _ = export(request)
    (file,) = model.references.values()
    return model, load_reference(file)


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ([helper.make_node("ArgMax", ["h"], ["y"], **ARGMAX)], [2]),
        (
            [
                helper.make_node("ArgMax", ["h"], ["i"], axis=-1),
                helper.make_node("Cast", ["i"], ["y"], to=TensorProto.INT64),
            ],
            [2, 1],
        ),
    ],
)
def test_a_flip_between_values_within_the_tolerance_is_permitted(
    tmp_path: Path, nodes: list[NodeProto], shape: list[int]
) -> None:
    whole = [helper.make_node("Identity", ["x"], ["h"]), *nodes]
    model, reference = reference_of(tmp_path, whole, tensor("y", shape, TensorProto.INT64))
    right = reference.outputs["y"]
    assert right.ravel().tolist() == [1, 0]
    for flipped, tolerance, expected in (
        ([1, 0], 1e-4, True),
        ([1, 2], 1e-2, True),
        ([2, 2], 1e-2, True),
        ([1, 2], 1e-4, False),
        ([1, 3], 1e-2, False),
        ([1, 9], 1e-2, False),
        ([-1, 0], 1e-2, False),
    ):
        outputs = {"y": np.array(flipped).reshape(right.shape)}
        check = check_outputs([outputs], "int8", reference, model, tolerance, "ort-cpu")
        assert check.output_ok is expected, (flipped, tolerance)


def test_each_of_several_indices_may_be_another_of_as_large_a_value(tmp_path: Path) -> None:
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "y"], axis=1)]
    model, reference = reference_of(tmp_path, nodes, tensor("y", [2, 2], TensorProto.INT64))
    assert reference.outputs["y"].tolist() == [[1, 2], [0, 2]]
    swapped = {"y": np.array([[2, 1], [2, 0]])}
    assert check_outputs([swapped], "fp32", reference, model, 1e-2, "ort-cpu").output_ok
    other = {"y": np.array([[2, 3], [2, 0]])}
    assert not check_outputs([other], "fp32", reference, model, 1e-2, "ort-cpu").output_ok
