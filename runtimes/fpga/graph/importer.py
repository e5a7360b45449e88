"""Import of a checked ONNX file as the card's graph: axes fixed, missing types inferred, shape
arithmetic folded away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper
from onnx.defs import OpSchema
from onnx.inliner import inline_local_functions

from exporters.onnx_evaluator.evaluator import Evaluator
from exporters.types import first_line
from runtimes.errors import CompileFault, Unsupported
from runtimes.fpga.graph.graph import AttributeValue, Graph, Node, Value

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


STATES_KEY = "graphlap.states"
AXES_KEY = "graphlap.axes"
"""Metadata of an exported file: JSON [[input, output], ...], and the axes' usual sizes."""


def load(
    path: str | Path,
    axes: Mapping[str, int] | None = None,
    states: tuple[tuple[str, str], ...] | None = None,
) -> Graph:
    """The graph in an .onnx file with every dimension a number.

    `axes` sizes the named dimensions (an unnamed one is called INPUT_POSITION) and goes
    before the usual sizes that the file itself may tell; `states` are (input, output)
    pairs, None for those of the file's metadata.

    Raises CompileFault for a file that is no ONNX model; Unsupported for a dimension left
    open, an axis that there is not, a shape that depends on data and a node that holds a
    graph of its own.
    """
    try:
        model = onnx.load(str(path))
        onnx.checker.check_model(str(path))
    except Exception as error:
        message = f"{path} is no valid ONNX file ({first_line(error)})"
        raise CompileFault(message, "check the file") from None
    return import_model(model, axes or {}, states)


def import_model(
    model: ModelProto,
    axes: Mapping[str, int],
    states: tuple[tuple[str, str], ...] | None = None,
) -> Graph:
    """`load` for a model that is in memory; the model is left as it was."""
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    usual = json.loads(metadata.get(AXES_KEY, "{}"))
    if states is None:
        states = tuple((i, o) for i, o in json.loads(metadata.get(STATES_KEY, "[]")))
    if model.functions:
        model = inline_local_functions(model)
    _refuse_unknown(axes, model)
    walk = _Walk(model, {**usual, **axes})
    nodes = tuple(_reachable_nodes(walk.nodes, [o.name for o in model.graph.output]))
    names = {name for node in nodes for name in (*node.inputs, *node.outputs)}
    names.update(value.name for value in (*model.graph.input, *model.graph.output))
    return Graph(
        name=model.graph.name,
        inputs=tuple(i.name for i in model.graph.input if i.name in walk.values),
        outputs=tuple(o.name for o in model.graph.output),
        nodes=nodes,
        constants={name: walk.constants[name] for name in names & walk.constants.keys()},
        values={name: value for name, value in walk.values.items() if name in names},
        states=states,
    )


def _reachable_nodes(nodes: list[Node], outputs: list[str]) -> list[Node]:
    """The nodes that an output depends on, in order."""
    wanted = set(outputs)
    kept: list[Node] = []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]


class _Walk:
    """One pass over a model's nodes; afterwards `nodes`, `values` and `constants` are filled."""

    def __init__(self, model: ModelProto, axes: Mapping[str, int]) -> None:
        self._opsets = list(model.opset_import)
        self._versions = {opset.domain or "": opset.version for opset in model.opset_import}
        self._ir_version = model.ir_version
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self._types: dict[str, TypeProto] = {}
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self.constants = {
            name: numpy_helper.to_array(tensor) for name, tensor in self._tensors.items()
        }
        for value in model.graph.input:
            if value.name not in self.constants:
                self._describe(value.name, _fix_dimensions(value, axes), "")
        for name, tensor in self._tensors.items():
            self._types[name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        for position, node in enumerate(model.graph.node):
            self._visit(node, node.name or f"{node.op_type}_{position}")

    def _visit(self, node: NodeProto, name: str) -> None:
        if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
            raise Unsupported(
                f"the {node.op_type} node {name!r} chooses at run time what is computed",
                "export the graph without control flow",
                node=name,
            )
        schema = _schema(node, name, self._versions.get(node.domain or "", 1))
        inputs = [i for i in node.input if i]
        shape_only = node.op_type in ("Shape", "Size") and not node.domain
        if shape_only and node.input[0] not in self.constants:
            self._keep(node.output[0], _shape_result(node, self.values[node.input[0]].shape))
            return
        is_constant = all(i in self.constants for i in inputs) and node.op_type not in _RANDOM
        arrays = self._evaluate(node) if is_constant else None
        if arrays is None:
            self._infer(node, name, schema)
            self.nodes.append(_node(node, name, schema.since_version))
            return
        for output, array in zip(node.output, arrays, strict=False):
            if output:
                self._keep(output, array)

    def _keep(self, name: str, array: np.ndarray) -> None:
        array = np.asarray(array)
        self.constants[name] = array
        self._types[name] = helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )

    def _evaluate(self, node: NodeProto) -> list[Any] | None:
        """What a node gives that reads constants alone; None where the evaluator can't say, so
        that it remains in the graph as a node."""
        inputs = [i for i in dict.fromkeys(node.input) if i]
        graph = helper.make_graph(
            [node],
            "constant",
            [helper.make_value_info(i, self._types[i]) for i in inputs],
            [helper.make_empty_tensor_value_info(o) for o in node.output if o],
        )
        model = helper.make_model(graph, opset_imports=self._opsets, ir_version=self._ir_version)
        try:
            results = Evaluator(model).run(None, {i: self.constants[i] for i in inputs})
        except Exception:
            return None
        pending = iter(results)
        return [next(pending) if output else None for output in node.output]

    def _infer(self, node: NodeProto, name: str, schema: OpSchema) -> None:
        constant_tensors = {i: self._tensor(i) for i in node.input if i in self.constants}
        # Weights matter by their shape alone; only small tensors can steer a shape.
        constant_tensors = {
            i: tensor for i, tensor in constant_tensors.items() if self.constants[i].size <= 1024
        }
        try:
            types = onnx.shape_inference.infer_node_outputs(
                schema,
                node,
                {i: self._types[i] for i in node.input if i},
                constant_tensors,
                opset_imports=self._opsets,
                ir_version=self._ir_version,
            )
        except onnx.checker.ValidationError:
            # A version of the operator that ONNX has withdrawn, which it infers nothing of.
            types = {}
        except (onnx.shape_inference.InferenceError, KeyError) as error:
            raise Unsupported(
                f"the shape of {node.op_type} node {name!r} can't be inferred "
                f"({first_line(error)})",
                "check the file",
                node=name,
            ) from None
        missing = missing_type(node, [self._types.get(i) for i in node.input])
        for output in node.output:
            if output:
                kind = types.get(output)
                self._describe(output, kind if _is_fixed(kind) else missing or kind, name)

    def _tensor(self, name: str) -> onnx.TensorProto:
        if name not in self._tensors:
            self._tensors[name] = numpy_helper.from_array(self.constants[name], name)
        return self._tensors[name]

    def _describe(self, name: str, kind: TypeProto | None, node: str) -> None:
        if kind is None or not _is_fixed(kind):
            raise Unsupported(
                f"the shape of {name!r}, made by node {node!r}, depends on data",
                "give the graph shapes that its inputs decide",
                node=node,
            )
        dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).name
        dims = kind.tensor_type.shape.dim
        self.values[name] = Value(name, dtype, tuple(d.dim_value for d in dims))
        self._types[name] = kind


_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}


def _is_fixed(kind: TypeProto | None) -> bool:
    """Whether it is the type of a tensor whose every dimension is a number."""
    if kind is None or not kind.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)


def _axis_name(value: onnx.ValueInfoProto, position: int) -> str:
    """The dimension's own name, or INPUT_POSITION where it has none; "" for a fixed one."""
    dim = value.type.tensor_type.shape.dim[position]
    return "" if dim.HasField("dim_value") else dim.dim_param or f"{value.name}_{position}"


def _refuse_unknown(axes: Mapping[str, int], model: ModelProto) -> None:
    axis_names = {
        _axis_name(value, position)
        for value in model.graph.input
        for position in range(len(value.type.tensor_type.shape.dim))
    } - {""}
    for axis in axes:
        if axis not in axis_names:
            raise Unsupported(
                f"the graph has no axis {axis!r}",
                f"its axes are: {', '.join(sorted(axis_names)) or 'none'}",
            )


def _fix_dimensions(value: onnx.ValueInfoProto, axes: Mapping[str, int]) -> TypeProto:
    """The input's type with its named dimensions set; Unsupported names one left open."""
    if not value.type.HasField("tensor_type"):
        raise Unsupported(f"input {value.name!r} is no tensor", "use a graph of tensors")
    kind = TypeProto()
    kind.CopyFrom(value.type)
    for position, dim in enumerate(kind.tensor_type.shape.dim):
        axis = _axis_name(value, position)
        if not axis:
            continue
        if axis not in axes:
            raise Unsupported(
                f"dimension {position} ({axis}) of input {value.name!r} is open",
                f"set it with --axis {axis}=1",
            )
        dim.dim_value = axes[axis]
    return kind


def _shape_result(node: NodeProto, shape: tuple[int, ...]) -> np.ndarray:
    """What Shape or Size says of a tensor whose shape is known."""
    if node.op_type == "Size":
        return np.array(np.prod(shape, dtype=np.int64))
    bounds = {a.name: a.i for a in node.attribute}
    return np.array(shape[bounds.get("start", 0) : bounds.get("end")], np.int64)


def _schema(node: NodeProto, name: str, version: int) -> OpSchema:
    try:
        return _known_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        raise Unsupported(
            f"{node.domain or 'ai.onnx'}.{node.op_type} (node {name!r}) is no ONNX operator",
            "use ONNX's own operators",
            node=name,
        ) from None


@cache
def _known_schema(op: str, version: int, domain: str) -> OpSchema:
    return onnx.defs.get_schema(op, version, domain)


def _node(node: NodeProto, name: str, since_version: int) -> Node:
    return Node(
        name=name,
        op=node.op_type,
        domain="" if node.domain == "ai.onnx" else node.domain,
        since_version=since_version,
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes={a.name: _attribute(a) for a in node.attribute},
    )


def _attribute(attribute: AttributeProto) -> AttributeValue:
    value = helper.get_attribute_value(attribute)
    match attribute.type:
        case AttributeProto.TENSOR:
            return numpy_helper.to_array(value)
        case AttributeProto.STRING:
            return str(value.decode())
        case AttributeProto.STRINGS:
            return tuple(text.decode() for text in value)
        case AttributeProto.INTS | AttributeProto.FLOATS:
            return tuple(value)
        case _:
            number: int | float = value
            return number
