"""The shapes inside a user's graph, by ONNX's shape inference over the graph without its weights.

Large weights take part by their shape alone, so that a file of any size can be asked, and
one whose weights lie elsewhere needs none of them read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

import onnx
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto
from onnx.external_data_helper import uses_external_data

Shape = tuple[int, ...]

_KEPT_ELEMENTS = 1024
"""Constants up to this size keep their values: a Reshape's target is needed, a weight is not."""
_FAILED_NODE = re.compile(
    r"\(op_type:(?P<op>[^,)]*)(, node name: (?P<node>[^)]*))?\): (?P<reason>[^\n]*)"
)


class ShapeConflict(Exception):
    """The sizes do not fit together at `node`, for `reason`."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def inferred(
    model: ModelProto, point: Mapping[str, int] | None = None
) -> dict[str, ValueInfoProto]:
    """Every tensor whose type is known, by name; with `point`, the axes have those sizes.

    ShapeConflict if the graph cannot take them, as far as inference sees.
    """
    skeleton = _without_weights(model)
    if point:
        for value in skeleton.graph.input:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_param in point:
                    dimension.dim_value = point[dimension.dim_param]
    try:
        graph = onnx.shape_inference.infer_shapes(
            skeleton, strict_mode=bool(point), data_prop=True
        ).graph
    except Exception as error:
        match = _FAILED_NODE.search(str(error))
        if match is None:
            raise ShapeConflict("", str(error).strip().partition("\n")[0]) from error
        reason = re.sub(r"^\[\w+\] ", "", match["reason"])
        raise ShapeConflict(match["node"] or match["op"], reason) from error
    values = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
    for tensor in graph.initializer:
        values[tensor.name] = onnx.helper.make_tensor_value_info(
            tensor.name, tensor.data_type, tensor.dims
        )
    return values


def known_shapes(values: Mapping[str, ValueInfoProto]) -> dict[str, Shape]:
    """The tensors all of whose sizes are numbers."""
    return {
        name: tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
        for name, value in values.items()
        if value.type.tensor_type.HasField("shape")
        and all(d.HasField("dim_value") for d in value.type.tensor_type.shape.dim)
    }


def _without_weights(model: ModelProto) -> ModelProto:
    skeleton = ModelProto(ir_version=max(model.ir_version, 4))
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    graph: GraphProto = skeleton.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    weights = {tensor.name for tensor in model.graph.initializer}
    graph.input.extend(value for value in model.graph.input if value.name not in weights)
    for tensor in model.graph.initializer:
        if _is_kept(tensor):
            graph.initializer.append(tensor)
        else:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    return skeleton


def _is_kept(tensor: TensorProto) -> bool:
    return prod(tensor.dims) <= _KEPT_ELEMENTS and not uses_external_data(tensor)
