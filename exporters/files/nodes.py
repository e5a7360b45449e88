"""A node of a graph: how it is called, and what it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from heapq import heappop, heappush

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


def put_in_order(graph: GraphProto) -> bool:
    """Put each node after those that it reads; False where they stand so, or cannot.

    ONNX Runtime's own converter to fp16 writes them in another order, and ONNX Runtime sorts them.
    """
    maker = {name: place for place, node in enumerate(graph.node) for name in node.output if name}
    needed = [{maker[name] for name in reads(node) if name in maker} for node in graph.node]
    if all(place < here for here, places in enumerate(needed) for place in places):
        return False
    order = _first_to_last(needed)
    if len(order) < len(needed):
        return False
    nodes = [deepcopy(graph.node[place]) for place in order]
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _first_to_last(needed: Sequence[Collection[int]]) -> list[int]:
    """Places in an order in which each follows those it needs; those in a circle are left out."""
    readers: list[list[int]] = [[] for _ in needed]
    for here, places in enumerate(needed):
        for place in places:
            readers[place].append(here)
    left = [len(places) for places in needed]
    ready = [here for here, count in enumerate(left) if not count]
    order = []
    while ready:
        order.append(heappop(ready))
        for reader in readers[order[-1]]:
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, reader)
    return order
