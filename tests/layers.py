"""Graphs of equal layers: one layer more is that much more work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, ROWS = 384, 8


def write_layers(path: Path, layers: int) -> None:
    """So many matrix products, one after another."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []
    for k in range(layers):
        weight = (rng.standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]))
    first, last = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, WIDTH])
        for name in ("x0", f"x{layers}")
    )
    graph = helper.make_graph(nodes, "layers", [first], [last], weights)
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
