"""A node of a graph: how it is called, and what it reads."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto


def node_name(node: NodeProto) -> str:
    """A node's name; one without goes by its first output."""
    return node.name or next(filter(None, node.output), "")


def reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, those that its inner graphs take from outside included."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            for inner_node in inner.node:
                yield from reads(inner_node)
            yield from (value.name for value in inner.output)


def all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    """The nodes of the graph, of its functions and of every graph that a node holds."""
    yield from nodes_of(model.graph)
    for function in model.functions:
        yield from function.node


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """All nodes of a graph, those of inner graphs before the node that holds them."""
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from nodes_of(inner)
        yield node
