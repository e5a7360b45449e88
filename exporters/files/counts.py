"""Parameters and multiply-accumulates of a user's graph, read from the graph itself.

Constants are folded first, by shape: what follows from weights alone is one weight, counted
once where nodes that also take data read it, and its own products are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from exporters.files.constants import constants, weights_read
from exporters.files.nodes import nodes_of
from exporters.files.shapes import Shape, ShapeConflict, inferred, known_shapes

_WEIGHT_TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT8,
        TensorProto.UINT8,
    }
)
_RUNNING_STATISTICS = {"BatchNormalization": (3, 4)}
_NO_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    # Sequence lengths and first states: data, even where they are constant.
    "LSTM": (4, 5, 6),
    "GRU": (4, 5),
    "RNN": (4, 5),
    # The scales and zero points of quantised tensors.
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 4, 5, 6, 7),
    "QLinearMatMul": (1, 2, 3, 4, 5, 6, 7),
    "ConvInteger": (2, 3),
    "MatMulInteger": (2, 3),
    # Sizes, places and bounds, which say how a node computes.
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "GridSample": (1,),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Resize": (1, 2, 3),
    "RoiAlign": (1, 2),
    "Upsample": (1,),
}
"""By operator, the inputs that hold no weights."""
_MATRIX_OPS_UNCOUNTED = (
    "Attention",
    "Conv",
    "Einsum",
    "GRU",
    "Gemm",
    "LSTM",
    "LinearClassifier",
    "LinearRegressor",
    "MatMul",
    "RNN",
    "SVM",
)
_ONNX_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Counts:
    """As `ExportedModel` has them; None where a shape or an operator is not known."""

    parameters: int | None
    parameters_with_buffers: int | None
    macs: int | None


UNKNOWN = Counts(None, None, None)


def count(model: ModelProto, point: Mapping[str, int]) -> Counts:
    """Weights of the graph, and the multiply-accumulates of one run at this point.

    `parameters` are the elements of every constant of at least one dimension, in floating
    point or 8 bits, that a node reads together with data, each constant once; running statistics
    of norms count only in `parameters_with_buffers`. `macs` covers convolutions, matrix products
    and recurrent layers with the formulas of `exporters.pyt.counts`; products of two activations
    count too.
    """
    try:
        values = inferred(model, point)
    except ShapeConflict:
        return UNKNOWN
    weights, buffers = _weights(model.graph, values)
    return Counts(weights, None if weights is None else weights + buffers, _macs(model, values))


def _weights(graph: GraphProto, values: Mapping[str, ValueInfoProto]) -> tuple[int | None, int]:
    """Elements of the weights, and of the running statistics.

    Not known where some are no tensors of the graph: of fitted trees and vectors, attributes.
    """
    if graph.sparse_initializer or any(map(_holds_numbers, nodes_of(graph))):
        return None, 0
    totals = {True: 0, False: 0}
    counted: set[str] = set()
    for read in weights_read(graph, values):
        operator = read.node.op_type if read.node is not None else ""
        weight = read.weight
        is_other = read.place in _NO_WEIGHTS.get(operator, ())
        if is_other or not weight.stored or weight.key in counted:
            continue
        if read.kind is None or weight.shape is None:
            return None, 0
        counted.add(weight.key)
        if weight.shape and read.kind in _WEIGHT_TYPES:
            totals[read.place in _RUNNING_STATISTICS.get(operator, ())] += prod(weight.shape)
    return totals[False], totals[True]


def _macs(model: ModelProto, values: Mapping[str, ValueInfoProto]) -> int | None:
    """None if a product has an unknown shape, lies in an inner graph, or has no formula."""
    shapes, known = known_shapes(values), constants(model.graph, values)
    own_functions = {(function.domain, function.name) for function in model.functions}
    total = 0
    for node in model.graph.node:
        if any(name in known for name in node.output if name):
            continue  # it is computed once, when the graph is loaded
        macs = None if (node.domain, node.op_type) in own_functions else node_macs(node, shapes)
        if macs is None:
            return None
        total += macs
    return total


def node_macs(node: NodeProto, shapes: Mapping[str, Shape]) -> int | None:
    """The multiply-accumulates of one node of ONNX's own; None where they are not known."""
    formula = _FORMULAS.get(node.op_type) if node.domain in _ONNX_DOMAINS else None
    if formula is None:
        return None if _may_multiply(node) else 0
    try:
        return formula(node, shapes)
    except KeyError:
        return None


def _may_multiply(node: NodeProto) -> bool:
    if any(part in node.op_type for part in _MATRIX_OPS_UNCOUNTED):
        return True
    return any(
        _may_multiply(inner)
        for attribute in node.attribute
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))
        for inner in graph.node
    )


def _holds_numbers(node: NodeProto) -> bool:
    return node.domain not in _ONNX_DOMAINS and any(
        attribute.floats or attribute.HasField("t") for attribute in node.attribute
    )


def _convolution(weight: int) -> Callable[[NodeProto, Mapping[str, Shape]], int]:
    """Each output element takes (channels / group) x kernel, the weight's sizes but the first."""

    def macs(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
        return prod(shapes[node.output[0]]) * prod(shapes[node.input[weight]][1:])

    return macs


def _transposed(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    return prod(shapes[node.input[0]]) * prod(shapes[node.input[1]][1:])


def _gemm(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    transposed = any(a.name == "transA" and a.i for a in node.attribute)
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else -1]


def _matmul(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]


def _recurrent(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Both weight matrices [directions, gates x hidden, columns] meet each step of each row."""
    steps, batch, _ = shapes[node.input[0]]
    return steps * batch * (prod(shapes[node.input[1]]) + prod(shapes[node.input[2]]))


_FORMULAS: Mapping[str, Callable[[NodeProto, Mapping[str, Shape]], int]] = {
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
}
