"""What errors a graph may have: the types that it computes in, and its products in a row.

Told from the graph that is executed, and kept, so that a large file is read for it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto, NodeProto, TensorProto
from onnx.inliner import inline_local_functions

from exporters.files.engine import is_engine_format
from exporters.files.nodes import nodes_of, reads
from exporters.files.shapes import ShapeConflict, inferred
from exporters.made import Made

_PRODUCT = re.compile(r"Conv(?!ert)|Gemm|MatMul|Einsum|LSTM|GRU|RNN|Attention")
_PASSES_WEIGHTS_ON = frozenset(
    {
        "Cast",
        "CastLike",
        "DequantizeLinear",
        "Identity",
        "Reshape",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
_NAMES: dict[int, str] = {
    TensorProto.INT8: "int8",
    TensorProto.UINT8: "int8",
    TensorProto.INT4: "int8",
    TensorProto.UINT4: "int8",
    TensorProto.FLOAT8E4M3FN: "fp8",
    TensorProto.FLOAT8E5M2: "fp8",
    TensorProto.BFLOAT16: "bf16",
    TensorProto.FLOAT16: "fp16",
    TensorProto.FLOAT: "fp32",
}
"""Integers of 8 bits and fewer are judged as int8."""
_COARSEST_FIRST = ("fp8", "int8", "bf16", "fp16", "fp32")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """As `ExportedModel` has them."""

    narrowest: str
    depth: int


def told(folder: Path, graph: Path) -> Made:
    """The step: of a graph that the store holds. One in ONNX Runtime's own format is not read."""
    if is_engine_format(graph):
        return Made({}, Arithmetic("fp32", 0))
    return Made({}, arithmetic(onnx.load(graph, load_external_data=False)))


def arithmetic(model: ModelProto) -> Arithmetic:
    """Of a graph whose external weights need not be loaded.

    `narrowest` is taken over the operands of its products, followed back to where weights are
    stored in a narrower type than they are multiplied in; over all tensors where there is none.
    """
    if model.functions:
        model = inline_local_functions(model)
    nodes = list(nodes_of(model.graph))
    types = _types(model, nodes)
    maker = {name: node for node in nodes for name in node.output if name}
    products = [node for node in nodes if _PRODUCT.search(node.op_type)]
    held = {
        types[name]
        for node in products
        for operand in node.input
        for name in _stored_as(operand, maker)
        if name in types
    }
    names = {_NAMES[kind] for kind in (held if products else types.values()) if kind in _NAMES}
    if not products:
        names -= {"int8", "fp8"}
    return Arithmetic(min(names, key=_COARSEST_FIRST.index, default="fp32"), _depth(nodes))


def _types(model: ModelProto, nodes: list[NodeProto]) -> dict[str, int]:
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    for node in nodes:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.HasField("t"):
                types[node.output[0]] = attribute.t.data_type
    try:
        values = inferred(model)
    except ShapeConflict:  # what is stored is known even so
        return types
    return {name: value.type.tensor_type.elem_type for name, value in values.items()} | types


def _stored_as(operand: str, maker: Mapping[str, NodeProto]) -> Iterator[str]:
    """The operand, and what it is but another form of."""
    yield operand
    while operand in maker and maker[operand].op_type in _PASSES_WEIGHTS_ON:
        operand = maker[operand].input[0]
        yield operand


def _depth(nodes: list[NodeProto]) -> int:
    depths: dict[str, int] = {}
    for node in nodes:
        before = max((depths.get(name, 0) for name in reads(node)), default=0)
        here = before + bool(_PRODUCT.search(node.op_type))
        depths.update((name, here) for name in node.output)
    return max(depths.values(), default=0)
