"""Float32 tensors of a graph become bfloat16 wherever ONNX defines an operator for it.

A tensor may be needed in both types. In float32 it keeps its name, so that inner graphs and the
graph's ends find what they read; in bfloat16 it has another, and a Cast makes the one of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

import ml_dtypes
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper

from exporters.files.nodes import reads
from exporters.precision.finite import finite_cast, limit_constants
from exporters.precision.graphs import constants_as_weights, opset_of, titled

_NARROW = "tensor(bfloat16)"
_KEPT = frozenset({"CastLike", "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"})
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
        made = [
            place
            for place, name in enumerate(node.output)
            if schema.outputs[min(place, len(schema.outputs) - 1)].type_str in bound & variables
        ]
        return self._give(node, frozenset(made))

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
        holds_graphs = any(a.HasField("g") or a.graphs for a in node.attribute)
        unknown = any(name and name not in self._types for name in (*node.input, *node.output))
        if holds_graphs or unknown or node.op_type in _KEPT or node.domain not in ("", "ai.onnx"):
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

    def _cast(self, source: str, target: str, to: int) -> None:
        self.nodes.append(helper.make_node("Cast", [source], [target], f"{target}_cast", to=to))

    def _free_name(self, wanted: str) -> str:
        names: Iterator[str] = (f"{wanted}_{number}" for number in count(2))
        while wanted in self._names:
            wanted = next(names)
        self._names.add(wanted)
        return wanted
