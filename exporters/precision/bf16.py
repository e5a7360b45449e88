"""The step from a float32 graph to bfloat16: it takes and gives float32, bfloat16 lies within.

No plain array holds bfloat16, so a graph begins and ends with casts, as an int8 one with its
quantisers. No session of it is created here: ONNX Runtime's CPU provider has no such products.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto
from onnx.inliner import inline_local_functions

from exporters.complaint import first_line
from exporters.files.arithmetic import arithmetic
from exporters.files.nodes import put_in_order
from exporters.files.shapes import ShapeConflict, inferred
from exporters.made import Made
from exporters.precision.graphs import (
    checked,
    is_half_already,
    loaded,
    opset_of,
    restore_head,
    saved,
    tidy_weights,
)
from exporters.precision.narrowing import narrowed
from exporters.types import NotBenchmarkable

_OPSET = 22
"""The first in which convolutions, poolings and recurrent operators have a bfloat16 form."""
_FIRST_IR = 10
"""The one that ONNX has such opsets in."""


def to_bf16(folder: Path, name: str, graph: Path) -> Made:
    """The graph in bfloat16; NotBenchmarkable where it can't be written so."""
    proto = loaded(name, graph)
    if _is_narrow_already(proto):
        return checked(name, saved(proto, folder), "bf16", [])
    if is_half_already(proto):
        raise NotBenchmarkable(
            f"{name} holds its weights in fp16", "give the fp32 graph that it was made from"
        )
    tidy_weights(proto)
    exceptions = narrowed(proto := _in_opset(name, proto), _types(name, proto))
    tidy_weights(proto)
    return checked(name, saved(proto, folder), "bf16", exceptions)


def _is_narrow_already(proto: ModelProto) -> bool:
    """Whether what the graph multiplies is bfloat16."""
    holds = any(tensor.data_type == TensorProto.BFLOAT16 for tensor in proto.graph.initializer)
    return holds and arithmetic(proto).narrowest == "bf16"


def _in_opset(name: str, proto: ModelProto) -> ModelProto:
    """The graph in an opset with the forms that are needed, its nodes in order, no functions."""
    original = proto
    try:
        if proto.functions:
            proto = inline_local_functions(proto)
        if opset_of(proto) < _OPSET:
            proto = onnx.version_converter.convert_version(proto, _OPSET)
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be written in opset {_OPSET}, the first that has bf16 throughout "
            f"({first_line(error)})",
            "measure it in fp32",
        ) from error
    restore_head(proto, original)
    proto.ir_version = max(proto.ir_version, _FIRST_IR)
    put_in_order(proto.graph)
    return proto


def _types(name: str, proto: ModelProto) -> dict[str, int]:
    """The element type of each tensor that is known to be one."""
    try:
        values = inferred(proto)
    except ShapeConflict as error:
        raise NotBenchmarkable(
            f"{name} cannot be converted to bf16 ({error})", "measure it in fp32"
        ) from error
    found = {tensor: value.type.tensor_type.elem_type for tensor, value in values.items()}
    return {tensor: kind for tensor, kind in found.items() if kind != TensorProto.UNDEFINED}
