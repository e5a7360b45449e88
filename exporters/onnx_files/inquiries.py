"""Process for those without onnx: a graph's nodes, or its copy at an earlier IR version.

`python -m exporters.onnx_files.inquiries nodes MODEL AXES [EXECUTED]`: a file and a point of its
axes in, `NodeGraph` out.

`python -m exporters.onnx_files.inquiries lower MODEL COPY VERSION` writes a copy for an earlier
engine. It prints what in the graph needs a later version, in which case there is no copy, or
nothing. Weights in other files are linked beside the copy. The tables follow the comments in
onnx.proto.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

from exporters.codec import to_json
from exporters.messages import GraphNode, NodeGraph
from exporters.onnx_files.graph import Shape, ShapeConflict, inferred, known_shapes, reads
from exporters.onnx_files.model_io import external_tensors
from exporters.onnx_files.products import node_macs

_SAME_DATA = frozenset({"Flatten", "Identity", "Reshape", "Shape", "Size", "Squeeze", "Unsqueeze"})
"""They give the same bytes another shape, or look at the shape alone."""
_PICKS = frozenset({"Gather", "GatherElements", "GatherND", "Slice"})
"""Of their first input they read no more than they give."""


def node_graph(model: str, axes: Mapping[str, int], executed_path: str = "") -> NodeGraph:
    """The nodes of the file `model` at this point of its axes, weights not read.

    `executed_path` is the file of the graph as an engine runs it; of its nodes only the names of
    tensors are told.
    """
    graph = onnx.load(model, load_external_data=False)
    sizes, shapes = _sizes(graph, axes)
    run = onnx.load(executed_path, load_external_data=False).graph.node if executed_path else ()
    return NodeGraph(
        tuple(_node(node, name, sizes, shapes) for name, node in _name_nodes(graph.graph.node)),
        tuple(value.name for value in graph.graph.output),
        tuple(
            GraphNode(name, node.op_type, dict.fromkeys(reads(node)), _output_sizes(node))
            for name, node in _name_nodes(run)
        ),
    )


def _name_nodes(nodes: Sequence[NodeProto]) -> list[tuple[str, NodeProto]]:
    """The nodes that compute; one without a name goes by ONNX Runtime's name for it."""
    computing = [node for node in nodes if node.op_type != "Constant"]
    return [(node.name or f"{node.op_type}_{n}", node) for n, node in enumerate(computing)]


def _output_sizes(node: NodeProto) -> dict[str, int | None]:
    return dict.fromkeys(name for name in node.output if name)


def _sizes(model: ModelProto, axes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, Shape]]:
    """Bytes and shape of each tensor that has known ones."""
    try:
        values = inferred(model, axes)
    except ShapeConflict:
        return {}, {}
    shapes = known_shapes(values)
    sizes = {name: prod(shape) * _item_bytes(values[name]) for name, shape in shapes.items()}
    return sizes, shapes


def _item_bytes(value: ValueInfoProto) -> int:
    try:
        return int(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).itemsize)
    except (KeyError, TypeError):
        return 0


def _node(
    node: NodeProto, name: str, sizes: Mapping[str, int], shapes: Mapping[str, Shape]
) -> GraphNode:
    read = {tensor: sizes.get(tensor) for tensor in reads(node)}
    outputs = {tensor: sizes.get(tensor) for tensor in _output_sizes(node)}
    if node.op_type in _SAME_DATA:
        read, outputs = dict.fromkeys(read, 0), dict.fromkeys(outputs, 0)
    elif node.op_type in _PICKS:
        output_size = sizes.get(node.output[0])
        input_size = read[node.input[0]]
        read[node.input[0]] = (
            output_size
            if input_size is None or output_size is None
            else min(input_size, output_size)
        )
    return GraphNode(name, node.op_type, read, outputs, node_macs(node, shapes))


_VERSION_OF_TYPE = {
    **dict.fromkeys(("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"), 9),
    **dict.fromkeys(("UINT4", "INT4"), 10),
    **{"FLOAT4E2M1": 11, "FLOAT8E8M0": 12},
    **dict.fromkeys(("UINT2", "INT2"), 13),
    **dict.fromkeys(("FLOAT6E2M3", "FLOAT6E3M2"), 14),
}
_VERSION_OF_FIELD = {
    "FunctionProto.attribute_proto": 9,
    "FunctionProto.overload": 10,
    "NodeProto.overload": 10,
    "ModelProto.configuration": 11,
    "NodeProto.device_configurations": 11,
}
"""Fields that change what a graph means. `metadata_props` of nodes and tensors, of version 10, do
not: an earlier reader passes over them."""
_TYPE_FIELDS = frozenset({"data_type", "elem_type"})
EARLIEST = 8
"""No copy is written below this version: earlier ones differ in more than these tables hold."""


def write_copy(path: Path, copy: Path, version: int) -> tuple[str, ...]:
    """Write `path` to `copy` at this IR version; what needs a later one, and then no copy."""
    model = onnx.load(path, load_external_data=False)
    if version < EARLIEST or model.ir_version > onnx.IR_VERSION:
        return (f"what no version from {EARLIEST} to {onnx.IR_VERSION} is known to hold",)
    feature_names = tuple(
        sorted({name for name, first_version in features(model) if first_version > version})
    )
    if feature_names:
        return feature_names
    for location in {_location(tensor) for tensor in external_tensors(model)}:
        _link(path.parent / location, copy.parent / location)
    model.ir_version = version
    copy.write_bytes(model.SerializeToString(deterministic=True))
    return ()


def features(model: ModelProto) -> set[tuple[str, int]]:
    """What of a graph needs an IR version later than `EARLIEST`, each with that version."""
    versions = set()
    for field, value in _fields(model):
        name = f"{field.containing_type.name}.{field.name}"
        if name in _VERSION_OF_FIELD:
            versions.add((name, _VERSION_OF_FIELD[name]))
        if field.name in _TYPE_FIELDS and value in TensorProto.DataType.values():
            kind = TensorProto.DataType.Name(value)
            if kind in _VERSION_OF_TYPE:
                versions.add((f"the type {kind}", _VERSION_OF_TYPE[kind]))
    return versions


def _fields(message: Message) -> Iterator[tuple[FieldDescriptor, object]]:
    """Every field that is set, at any depth, with its value."""
    for field, value in message.ListFields():
        yield field, value
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in [value] if isinstance(value, Message) else value:
                yield from _fields(part)


def _location(tensor: TensorProto) -> str:
    return next(item.value for item in tensor.external_data if item.key == "location")


def _link(file: Path, place: Path) -> None:
    """Let a file lie at a second place too, without a copy of its bytes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file.resolve(), place)
    except OSError:  # another file system
        place.symlink_to(file.resolve())


def answer_to(kind: str, model: str, *arguments: str) -> str:
    if kind == "nodes":
        axes, *executed_path = arguments
        return json.dumps(to_json(node_graph(model, json.loads(axes), *executed_path))) + "\n"
    copy, version = arguments
    return "\n".join(write_copy(Path(model), Path(copy), int(version)))


if __name__ == "__main__":
    sys.stdout.write(answer_to(*sys.argv[1:]))
