"""Multiply-accumulates of nodes: a formula for each operator that multiplies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from onnx import NodeProto

from exporters.onnx_files.graph import Shape, inner_graphs

_MATRIX_OPS_UNCOUNTED = (
    *("Attention", "Conv", "Einsum", "GRU", "Gemm", "LSTM", "LinearClassifier"),
    *("LinearRegressor", "MatMul", "RNN", "SVM"),
)


def node_macs(node: NodeProto, shapes: Mapping[str, Shape]) -> int | None:
    """The multiply-accumulates of one node; None where they are not known."""
    formula = _FORMULAS.get(node.domain, {}).get(node.op_type)
    if formula is None:
        return None if _may_multiply(node) else 0
    try:
        return formula(node, shapes)
    except (KeyError, IndexError, ValueError):
        return None


def _may_multiply(node: NodeProto) -> bool:
    if any(part in node.op_type for part in _MATRIX_OPS_UNCOUNTED):
        return True
    return any(_may_multiply(inner) for graph in inner_graphs(node) for inner in graph.node)


def _convolution(weight: int) -> Callable[[NodeProto, Mapping[str, Shape]], int]:
    """Each output element takes (channels / group) x kernel, the weight's sizes but the first."""

    def macs(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
        return prod(shapes[node.output[0]]) * prod(shapes[node.input[weight]][1:])

    return macs


def _transposed_macs(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    return prod(shapes[node.input[0]]) * prod(shapes[node.input[1]][1:])


def _gemm(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    is_transposed = any(a.name == "transA" and a.i for a in node.attribute)
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if is_transposed else -1]


def _matmul(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]


def _recurrent(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Both weight matrices [directions, gates x hidden, columns] meet each step of each row."""
    steps, batch, _ = shapes[node.input[0]]
    return steps * batch * (prod(shapes[node.input[1]]) + prod(shapes[node.input[2]]))


def _einsum(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Every combination of indices is one product of each pair of operands."""
    equation = next(a.s.decode() for a in node.attribute if a.name == "equation").replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, name in zip(terms, node.input, strict=True):
        before, dots, after = term.partition("...")
        shape = shapes[name]
        middle = len(shape) - len(before) - len(after)
        labels = [*before, *(f"...{middle - n}" for n in range(middle if dots else 0)), *after]
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    return prod(sizes.values()) * (len(terms) - 1)


def _attention(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Queries with keys, and what comes of it with values: [batch, (heads,) rows, width]."""
    query, output = shapes[node.input[0]], shapes[node.output[0]]
    rows = query[-2] if len(query) == 3 else prod(query[1:3])
    return query[0] * rows * _keys(node, shapes) * (query[-1] + output[-1])


def _keys(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """How many keys a query meets, those of a cache included."""
    present = node.output[1] if len(node.output) > 1 and node.output[1] else node.input[1]
    return shapes[present][-2]


def _fused_attention(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """com.microsoft's, which projects its input [batch, rows, width] to all three beforehand."""
    batch, rows, width = shapes[node.input[0]]
    projected = shapes[node.input[1]][-1]
    keys = shapes[node.output[1]][-2] if len(node.output) > 1 and node.output[1] else rows
    inner = shapes[node.output[0]][-1]
    return batch * rows * (width * projected + 2 * keys * inner)


def _grouped_attention(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Keys and values of fewer heads are shared by the queries of several."""
    batch, rows, _ = shapes[node.input[0]]
    inner = shapes[node.output[0]][-1]
    return 2 * batch * rows * shapes[node.output[1]][-2] * inner


def _packed_matmul(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """[rows, K] with K x N weights of a few bits, whose own shape is that of bytes."""
    return prod(shapes[node.input[0]][:-1]) * _sizes_of(node, "K") * _sizes_of(node, "N")


def _sizes_of(node: NodeProto, name: str) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == name), 0)


def packed_elements(node: NodeProto | None, place: int | None) -> int:
    """The weights in an input that holds them in packed bytes; 0 for any other."""
    if node is None or node.op_type != "MatMulNBits" or place != 1:
        return 0
    return _sizes_of(node, "K") * _sizes_of(node, "N")


def _linear(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """ai.onnx.ml's: each row with all coefficients, and with all vectors of a kernel."""
    held = {a.name: len(a.floats) for a in node.attribute}
    numbers = held["coefficients"] + held.get("support_vectors", 0)
    shape = shapes[node.input[0]]
    return (shape[0] if len(shape) > 1 else 1) * numbers


Formula = Callable[[NodeProto, Mapping[str, Shape]], int]
_ONNX: Mapping[str, Formula] = {
    "Attention": _attention,
    "Einsum": _einsum,
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed_macs,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
}
_FORMULAS: Mapping[str, Mapping[str, Formula]] = {
    "": _ONNX,
    "ai.onnx": _ONNX,
    "ai.onnx.ml": dict.fromkeys(
        ("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"), _linear
    ),
    "com.microsoft": {
        "Attention": _fused_attention,
        "FusedConv": _ONNX["Conv"],
        "FusedGemm": _gemm,
        "FusedMatMul": _matmul,
        "GroupQueryAttention": _grouped_attention,
        "MatMulIntegerToFloat": _matmul,
        "DynamicQuantizeMatMul": _matmul,
        "MatMulNBits": _packed_matmul,
        "MultiHeadAttention": _attention,
        "NhwcConv": _ONNX["Conv"],
        "QGemm": _gemm,
    },
}
"""By domain and operator."""
