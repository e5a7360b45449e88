"""Small real .onnx files, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
"""Real networks that come with onnx, their weights replaced by constants."""


def tensor(
    name: str, shape: Sequence[int | str | None] | None, element: int = TensorProto.FLOAT
) -> ValueInfoProto:
    """A graph's input or output; None for a dimension without a name, or for no shape at all."""
    return helper.make_tensor_value_info(name, element, shape)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
    vendor: str = "",
) -> ModelProto:
    """A model of these nodes; `vendor` is a domain of operators that nobody else knows."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    opsets = [helper.make_opsetid("", opset)]
    if vendor:
        opsets.append(helper.make_opsetid(vendor, 1))
    proto = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    return helper.make_model(proto, opset_imports=opsets, ir_version=10)


def save_affine(path: Path, external: str = "", ir_version: int = 10) -> np.ndarray:
    """y = x @ w with x [batch, 64]; returns w. `external` names a file beside the model."""
    weights = np.random.default_rng(5).standard_normal((64, 32)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = tensor("x", ["batch", 64]), tensor("y", ["batch", 32])
    model = graph([node], [x], [y], {"w": weights}, opset=13)
    model.graph.name, model.ir_version = "affine", ir_version
    if ir_version < 4:
        model.graph.input.append(tensor("w", [64, 32]))
    onnx.save(
        model,
        path,
        save_as_external_data=bool(external),
        location=external or None,
        size_threshold=0,
    )
    return weights
