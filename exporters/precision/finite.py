"""Finite numbers that another format rounds to infinity become its largest finite ones.

Attention is masked with the lowest float32, which bfloat16 would round to minus infinity, and a
row that is masked whole would be NaN. Infinities and NaN stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

_HELD = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})


def largest_of(dtype: Any) -> float:
    """The largest finite number of a float type."""
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def finite_cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The array in a narrower float type; what is finite stays finite."""
    largest = largest_of(dtype)
    with np.errstate(over="ignore"):
        cast = array.astype(dtype)
    overflown = np.isinf(cast) & np.isfinite(array)
    return np.where(overflown, np.copysign(largest, array).astype(dtype), cast)


def limit_constants(proto: ModelProto, dtype: Any) -> None:
    """Limit what all graphs and functions of the model hold in float32 and float64 to the finite
    numbers of `dtype`, in place: what is left wide is cast to it in each run."""
    for tensor in all_tensors(proto):
        if tensor.data_type in _HELD:
            _limit(tensor, dtype)
    for node in _nodes(proto):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value_float":
                attribute.f = float(_limited(np.float32(attribute.f), dtype))
            elif attribute.name == "value_floats":
                attribute.floats[:] = _limited(np.float32(attribute.floats), dtype).tolist()


def _limit(tensor: TensorProto, dtype: Any) -> None:
    array = numpy_helper.to_array(tensor)
    limited = _limited(array, dtype)
    if not np.array_equal(array, limited, equal_nan=True):
        tensor.CopyFrom(numpy_helper.from_array(limited, tensor.name))


def _limited(array: np.ndarray | np.float32, dtype: Any) -> np.ndarray:
    """The array with those finite numbers replaced that `dtype` rounds to infinity.

    What float32 itself rounds to infinity is an infinity to all that reads it.
    """
    largest = largest_of(dtype)
    with np.errstate(over="ignore"):
        single = np.asarray(array, np.float32)
        overflown = np.isinf(single.astype(dtype)) & np.isfinite(single)
    return np.where(overflown, np.copysign(largest, array), array).astype(np.asarray(array).dtype)


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and all that its nodes hold."""
    yield graph
    yield from _held_graphs(graph.node)


def _held_graphs(nodes: Any) -> Iterator[GraphProto]:
    for node in nodes:
        for attribute in node.attribute:
            held = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
            for inner in held:
                yield from all_graphs(inner)


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    for graph in all_graphs(proto.graph):
        yield from graph.node
    for function in proto.functions:
        yield from function.node
        for graph in _held_graphs(function.node):
            yield from graph.node


def all_tensors(proto: ModelProto) -> Iterator[TensorProto]:
    graphs = [*all_graphs(proto.graph)]
    for function in proto.functions:
        graphs += _held_graphs(function.node)
    for graph in graphs:
        yield from graph.initializer
        yield from (sparse.values for sparse in graph.sparse_initializer)
    for node in _nodes(proto):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield attribute.sparse_tensor.values
            yield from attribute.tensors
            yield from (sparse.values for sparse in attribute.sparse_tensors)
