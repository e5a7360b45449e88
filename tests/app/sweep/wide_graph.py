"""A small .onnx file that needs much memory, for searches of the largest batch."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper


def write_wide_graph(path: Path, shape: tuple[int | str, ...] = ("batch", 4)) -> Path:
    """y = sum of x repeated to 1 MiB an entry: it needs far more memory than its ends."""
    graph = helper.make_graph(
        [
            helper.make_node("Tile", ["x", "times"], ["wide"]),
            helper.make_node("Relu", ["wide"], ["positive"]),
            helper.make_node("ReduceMax", ["positive", "axis"], ["y"]),
        ],
        "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (shape[0], 1))],
        [
            helper.make_tensor("times", TensorProto.INT64, [2], [1, 1 << 16]),
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        ],
    )
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path
