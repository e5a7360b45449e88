"""The process that reads a graph's nodes: a file and a point of its axes in, `NodeGraph` out.

`python -m exporters.onnx_files.node_graph MODEL AXES [EXECUTED]`, for processes without onnx.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from math import prod

import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto

from exporters.codec import to_json
from exporters.messages import GraphNode, NodeGraph
from exporters.onnx_files.graph import Shape, ShapeConflict, inferred, known_shapes, reads
from exporters.onnx_files.products import node_macs

_SAME_DATA = frozenset({"Flatten", "Identity", "Reshape", "Shape", "Size", "Squeeze", "Unsqueeze"})
"""They give the same bytes another shape, or look at the shape alone."""
_PICKS = frozenset({"Gather", "GatherElements", "GatherND", "Slice"})
"""Of their first input they read no more than they give."""


def main(arguments: Sequence[str]) -> int:
    model, axes, *executed_path = arguments
    reply = to_json(node_graph(model, json.loads(axes), *executed_path))
    sys.stdout.write(json.dumps(reply) + "\n")
    return 0


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
