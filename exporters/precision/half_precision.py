"""Steps from a float32 graph to float16 and bfloat16: float16 at its ends too, bfloat16 only
within.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    defs,
    helper,
    numpy_helper,
)
from onnx.inliner import inline_local_functions

from exporters.onnx_files.counts import arithmetic
from exporters.onnx_files.graph import (
    ShapeConflict,
    all_graphs,
    all_nodes,
    inferred,
    inner_graphs,
    reads,
)
from exporters.precision.graphs import (
    checked,
    constants_as_tensors,
    constants_as_weights,
    in_opset,
    is_half_already,
    loaded,
    opset_of,
    quiet,
    saved,
    tidy_weights,
    titled,
)
from exporters.types import Made, NotBenchmarkable, first_line

_FULL_TYPES = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})


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
        if tensor.data_type in _FULL_TYPES:
            _limit(tensor, dtype)
    for node in all_nodes(proto):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value_float":
                attribute.f = float(_clip_to(np.float32(attribute.f), dtype))
            elif attribute.name == "value_floats":
                attribute.floats[:] = _clip_to(np.float32(attribute.floats), dtype).tolist()


def _limit(tensor: TensorProto, dtype: Any) -> None:
    array = numpy_helper.to_array(tensor)
    clipped = _clip_to(array, dtype)
    if not np.array_equal(array, clipped, equal_nan=True):
        tensor.CopyFrom(numpy_helper.from_array(clipped, tensor.name))


def _clip_to(array: np.ndarray | np.float32, dtype: Any) -> np.ndarray:
    """The array with those finite numbers replaced that `dtype` rounds to infinity.

    What float32 itself rounds to infinity is an infinity to all that reads it.
    """
    largest = largest_of(dtype)
    with np.errstate(over="ignore"):
        single = np.asarray(array, np.float32)
        overflown = np.isinf(single.astype(dtype)) & np.isfinite(single)
    return np.where(overflown, np.copysign(largest, array), array).astype(np.asarray(array).dtype)


def all_tensors(proto: ModelProto) -> Iterator[TensorProto]:
    for graph in all_graphs(proto):
        yield from graph.initializer
        yield from (sparse.values for sparse in graph.sparse_initializer)
    for node in all_nodes(proto):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield attribute.sparse_tensor.values
            yield from attribute.tensors
            yield from (sparse.values for sparse in attribute.sparse_tensors)


_NARROW = "tensor(bfloat16)"
_UNCHANGED_OPS = frozenset(
    {"CastLike", "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"}
)
"""What they give or how exactly they scale hangs on the type of their operands."""
_ANY_FORM = frozenset({"Cast", "Shape", "Size"})
"""They read a tensor in whichever type it is there."""
_NO_EXCEPTIONS = frozenset({"Cast", "CastLike", "DequantizeLinear"})


def narrowed(proto: ModelProto, types: Mapping[str, int]) -> list[str]:
    """Narrow the graph in place, its nodes being in order; names the nodes left in float32.

    `types` are the element types of its tensors; what reads or gives one of an unknown type is
    left as it is. A float32 that is made of integers stays one until an operator takes it, since
    bfloat16 does not tell whole numbers apart beyond 256.
    """
    constants_as_weights(proto)
    limit_constants(proto, ml_dtypes.bfloat16)
    narrowing = _Narrowing(proto, types)
    exceptions = [titled(node) for node in [*proto.graph.node] if narrowing.take(node)]
    for value in proto.graph.output:
        if types.get(value.name) == TensorProto.FLOAT:
            narrowing.needed(value.name, narrow=False)
    del proto.graph.node[:]
    proto.graph.node.extend(narrowing.nodes)
    proto.graph.ClearField("value_info")
    return exceptions


class _Narrowing:
    """Takes the nodes of a graph one after another and lists those of the new one."""

    def __init__(self, proto: ModelProto, types: Mapping[str, int]) -> None:
        self.nodes: list[NodeProto] = []
        self._graph, self._types, self._opset = proto.graph, types, opset_of(proto)
        self._weights = {tensor.name: tensor for tensor in proto.graph.initializer}
        self._wide = {value.name for value in proto.graph.input} | self._weights.keys()
        self._narrow: dict[str, str] = {}
        self._names = {*self._wide, *(name for node in proto.graph.node for name in node.output)}

    def take(self, node: NodeProto) -> bool:
        """List the node; whether it computes float32 that could not be narrowed."""
        schema = self._schema(node)
        if schema is None:
            for name in dict.fromkeys(reads(node)):
                if self._is_float(name):
                    self.needed(name, narrow=False)
            return self._give(node, frozenset())
        if node.op_type in _ANY_FORM:
            if self._is_float(node.input[0]):
                self._read(node, 0, narrow=node.input[0] in self._narrow)
            return self._give(node, frozenset())
        variables = {
            constraint.type_param_str
            for constraint in schema.type_constraints
            if _NARROW in constraint.allowed_type_strs
        }
        bound = set()
        for place, name in enumerate(node.input):
            formal = schema.inputs[min(place, len(schema.inputs) - 1)].type_str
            if self._is_float(name):
                self._read(node, place, narrow=formal in variables)
                bound.add(formal)
        outputs = [
            place
            for place, name in enumerate(node.output)
            if schema.outputs[min(place, len(schema.outputs) - 1)].type_str in bound & variables
        ]
        return self._give(node, frozenset(outputs))

    def needed(self, name: str, narrow: bool) -> str:
        """What the tensor is called in this type; made here where it is not there yet."""
        if narrow and name not in self._narrow:
            self._narrow[name] = self._free_name(f"{name}_bf16")
            weight = self._weights.get(name)
            if weight is not None:
                array = finite_cast(numpy_helper.to_array(weight), ml_dtypes.bfloat16)
                self._graph.initializer.append(numpy_helper.from_array(array, self._narrow[name]))
            else:
                self._cast(name, self._narrow[name], TensorProto.BFLOAT16)
        elif not narrow and name not in self._wide:
            self._cast(self._narrow[name], name, TensorProto.FLOAT)
            self._wide.add(name)
        return self._narrow[name] if narrow else name

    def _schema(self, node: NodeProto) -> defs.OpSchema | None:
        """What ONNX says of the operator; None where the node is to stay as it is."""
        holds_graphs = any(inner_graphs(node))
        has_unknown_type = any(
            name and name not in self._types for name in (*node.input, *node.output)
        )
        if (
            holds_graphs
            or has_unknown_type
            or node.op_type in _UNCHANGED_OPS
            or node.domain not in ("", "ai.onnx")
        ):
            return None
        try:
            return defs.get_schema(node.op_type, self._opset, "")
        except defs.SchemaError:
            return None

    def _read(self, node: NodeProto, place: int, narrow: bool) -> None:
        node.input[place] = self.needed(node.input[place], narrow)

    def _give(self, node: NodeProto, narrow: frozenset[int]) -> bool:
        self.nodes.append(node)
        left_wide = False
        for place, name in enumerate(node.output):
            if not self._is_float(name):
                continue
            if place in narrow:
                self._narrow[name] = node.output[place] = self._free_name(f"{name}_bf16")
            else:
                self._wide.add(name)
                left_wide = True
        return left_wide and node.op_type not in _NO_EXCEPTIONS

    def _is_float(self, name: str) -> bool:
        return self._types.get(name) == TensorProto.FLOAT

    def _cast(self, source: str, target: str, target_type: int) -> None:
        self.nodes.append(
            helper.make_node("Cast", [source], [target], f"{target}_cast", to=target_type)
        )

    def _free_name(self, base_name: str) -> str:
        names: Iterator[str] = (f"{base_name}_{number}" for number in count(2))
        while base_name in self._names:
            base_name = next(names)
        self._names.add(base_name)
        return base_name


def to_fp16(folder: Path, name: str, graph: Path) -> Made:
    """The graph in float16; NotBenchmarkable where the converter fails on it."""
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    proto = loaded(name, graph)
    if is_half_already(proto):
        return checked(name, saved(proto, folder), "fp16", [])
    if proto.functions:
        proto = inline_local_functions(proto)
    tidy_weights(proto)
    constants_as_tensors(proto)
    try:
        with quiet():
            nodes = len(proto.graph.node)
            proto = convert_float_to_float16(proto)
        if len(proto.graph.node) > nodes:
            # Casts around the nodes that it leaves in float32 come last in its result.
            OnnxModel.graph_topological_sort(proto.graph, is_deterministic=True)
        typed_model = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be converted to fp16 ({first_line(error)})", "measure it in fp32"
        ) from error
    wide = {
        value.name
        for value in (*typed_model.graph.value_info, *typed_model.graph.output)
        if value.type.tensor_type.elem_type == TensorProto.FLOAT
    }
    exceptions = [
        titled(node)
        for node in proto.graph.node
        if node.op_type not in ("Cast", "DequantizeLinear") and wide & set(node.output)
    ]
    proto.graph.ClearField("value_info")
    return checked(name, saved(proto, folder), "fp16", exceptions)


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
    proto = in_opset(name, proto, _OPSET, "bf16 throughout")
    proto.ir_version = max(proto.ir_version, _FIRST_IR)
    exceptions = narrowed(proto, _types(name, proto))
    tidy_weights(proto)
    return checked(name, saved(proto, folder), "bf16", exceptions)


def _is_narrow_already(proto: ModelProto) -> bool:
    """Whether what the graph multiplies is bfloat16."""
    holds = any(tensor.data_type == TensorProto.BFLOAT16 for tensor in proto.graph.initializer)
    return holds and arithmetic(proto).narrowest == "bf16"


def _types(name: str, proto: ModelProto) -> dict[str, int]:
    """The element type of each tensor that is known to be one."""
    try:
        values = inferred(proto)
    except ShapeConflict as error:
        raise NotBenchmarkable(
            f"{name} cannot be converted to bf16 ({error})", "measure it in fp32"
        ) from error
    types = {tensor: value.type.tensor_type.elem_type for tensor, value in values.items()}
    return {tensor: kind for tensor, kind in types.items() if kind != TensorProto.UNDEFINED}
