"""Which nodes of the file an executed node was made of, as far as its engine tells.

An engine that wrote its own graph tells by its tensors: what lies between those that a node reads
and those that it writes. Otherwise names tell, and for a torch module the order of its calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from exporters.node_graph import GraphNode, NodeGraph
from runtimes.execution import OpTime


def held(graph: NodeGraph, ops: Sequence[OpTime]) -> list[tuple[str, ...]]:
    """For each of `ops` the names of the nodes that it computes, in the file's order."""
    made = _made_of(graph)
    by_graph = _between(graph, made) if graph.executed else {}
    found = [
        by_graph[op.node] if op.node in by_graph else _named(op.holds or (op.node,), graph, made)
        for op in ops
    ]
    if not any(found):
        found = _in_order(graph, ops)
    place = {node.name: number for number, node in enumerate(graph.nodes)}
    return [tuple(sorted(names, key=place.__getitem__)) for names in found]


def _made_of(graph: NodeGraph) -> dict[str, GraphNode]:
    """Tensor -> the node of the file that writes it."""
    return {tensor: node for node in graph.nodes for tensor in node.writes}


def _between(graph: NodeGraph, made: Mapping[str, GraphNode]) -> dict[str, set[str]]:
    """Executed node -> the nodes between the tensors that it reads and those that it writes.

    A tensor that the engine named itself stands for the one after which its node is called.
    """
    known = {*made, *(tensor for node in graph.nodes for tensor in node.reads)}
    alias: dict[str, set[str]] = {}
    found = {}
    for node in graph.executed:
        ends = {alias_of for tensor in node.reads for alias_of in alias.get(tensor, {tensor})}
        begins = {tensor for tensor in node.writes if tensor in made}
        if not begins and (called := _called_after(node.name, graph, made)):
            begins = {called}
        for tensor in node.writes:
            if tensor not in known:
                alias[tensor] = begins or ends
        found[node.name] = _backwards(begins - ends, ends, made)
    return found


def _backwards(
    begins: Iterable[str], ends: Iterable[str], made: Mapping[str, GraphNode]
) -> set[str]:
    """The nodes from these tensors back to those."""
    names: set[str] = set()
    left, seen = list(begins), set(ends)
    while left:
        tensor = left.pop()
        node = made.get(tensor)
        if tensor in seen or node is None:
            continue
        seen.add(tensor)
        names.add(node.name)
        left += node.reads
    return names


def _called_after(name: str, graph: NodeGraph, made: Mapping[str, GraphNode]) -> str:
    """The tensor of the file with which an executed node's name begins, the longest; or none."""
    first = {node.name: next(iter(node.writes), "") for node in graph.nodes}
    starts = [
        start
        for start in (*made, *first)
        if re.match(
            rf"{re.escape(start)}(?!\w)|"
            rf"{re.escape(start)}_nchwc",
            name,
        )
    ]
    longest = max(starts, key=len, default="")
    return longest if longest in made else first.get(longest, "")


def _named(names: Iterable[str], graph: NodeGraph, made: Mapping[str, GraphNode]) -> set[str]:
    """The nodes that are called so, or whose tensor is, or up to one of the name's slashes."""
    nodes = {node.name for node in graph.nodes}
    found = set()
    for name in names:
        parts = name.split("/")
        for start in ("/".join(parts[:count]) for count in range(len(parts), 0, -1)):
            if start in nodes or start in made:
                found.add(start if start in nodes else made[start].name)
                break
    return found


def _in_order(graph: NodeGraph, ops: Sequence[OpTime]) -> list[set[str]]:
    """The calls of each operator of torch, and the nodes that its exporter called after it."""
    found: list[set[str]] = [set() for _ in ops]
    for kind in {op.op for op in ops}:
        calls = [number for number, op in enumerate(ops) if op.op == kind]
        called = re.compile(rf"node_{re.escape(kind)}(_\d+)?")
        names = [node.name for node in graph.nodes if called.fullmatch(node.name)]
        if len(names) == len(calls):
            for number, name in zip(calls, names, strict=True):
                found[number].add(name)
    return found
