"""Types of outputs that the input shapes decide and ONNX's own inference leaves open.

It infers nothing for operators that ONNX defines by a function, for GroupNormalization of opset
18, which ONNX has withdrawn, and where Transpose or GatherND give a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, helper

_AS_FIRST_INPUT = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
_COMPARISONS = frozenset({"GreaterOrEqual", "LessOrEqual"})


def missing_type(node: NodeProto, inputs: Sequence[TypeProto | None]) -> TypeProto | None:
    """The type of the node's one output, for inputs of fixed shapes; None where not known."""
    if node.domain or not inputs or any(kind is None for kind in inputs):
        return None
    element = inputs[0].tensor_type.elem_type if inputs[0] is not None else 0
    shapes = [
        tuple(dim.dim_value for dim in kind.tensor_type.shape.dim)
        for kind in inputs
        if kind is not None
    ]
    if node.op_type in _AS_FIRST_INPUT or (node.op_type == "Transpose" and not shapes[0]):
        return helper.make_tensor_type_proto(element, shapes[0])
    if node.op_type in _COMPARISONS:
        return helper.make_tensor_type_proto(TensorProto.BOOL, np.broadcast_shapes(*shapes))
    if node.op_type == "GatherND":
        data, indices = shapes
        batch = next((a.i for a in node.attribute if a.name == "batch_dims"), 0)
        shape = (*indices[:-1], *data[batch + indices[-1] :])
        return helper.make_tensor_type_proto(element, shape)
    return None
