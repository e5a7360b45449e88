"""A part of a user's graph, between nodes that are named: what times a block in its network.

The part begins with the tensors that the first nodes take and ends with those that the last
ones give; inputs of the whole graph that it still needs stay inputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from exporters.files.nodes import node_name, reads
from exporters.files.shapes import ShapeConflict, inferred
from exporters.types import ExportError


def part(
    file: str, model: ModelProto, from_nodes: Sequence[str], to_nodes: Sequence[str]
) -> ModelProto:
    """The nodes on the way from `from_nodes` (none: the inputs) to `to_nodes` (none: the
    outputs), as a model of its own.

    ExportError for a name that is not there, for nodes that nothing connects, and for a
    tensor at the cut whose shape cannot be told.
    """
    graph = model.graph
    nodes = {node_name(node): node for node in graph.node}
    first = [_find(file, nodes, name) for name in from_nodes]
    last = [_find(file, nodes, name) for name in to_nodes]
    constants = _constants(graph)
    cut = dict.fromkeys(
        name for node in first for name in node.input if name and name not in constants
    )
    results = dict.fromkeys(
        [name for node in last for name in node.output if name]
        or [value.name for value in graph.output]
    )
    maker = {name: node for node in graph.node for name in node.output if name}
    kept = _leading_to(results, cut, maker)
    _refuse_unconnected(file, first, last, kept, maker)
    needed = {name for node in graph.node if _mark(node) in kept for name in reads(node)}
    try:
        values = inferred(model)
    except ShapeConflict as error:
        raise ExportError(
            f"the sizes in {file} do not fit together at node {error.node!r} ({error.reason})",
            "export the file again",
        ) from error
    given = [v.name for v in graph.input if v.name not in cut and v.name not in constants]
    cut_model = _without_graph(model)
    target = cut_model.graph
    target.name = graph.name
    target.node.extend(node for node in graph.node if _mark(node) in kept)
    target.initializer.extend(t for t in graph.initializer if t.name in needed)
    target.sparse_initializer.extend(t for t in graph.sparse_initializer if t.values.name in needed)
    target.input.extend(_value(file, values, name) for name in (*given, *cut) if name in needed)
    target.output.extend(_value(file, values, name) for name in results)
    return cut_model


def _find(file: str, nodes: Mapping[str, NodeProto], name: str) -> NodeProto:
    if name in nodes:
        return nodes[name]
    near = get_close_matches(name, nodes, n=1, cutoff=0.4)
    remedy = f"did you mean {near[0]!r}?" if near else "see its nodes in a viewer of ONNX files"
    raise ExportError(f"{file} has no node called {name!r}", remedy)


def _constants(graph: GraphProto) -> set[str]:
    """Initialisers, and all that follows from them and from Constant nodes alone."""
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        names = list(reads(node))
        if node.op_type == "Constant" or (names and all(name in constants for name in names)):
            constants.update(node.output)
    return constants


def _mark(node: NodeProto) -> str:
    """What tells a node from all others: names need not be unique, what a node gives is."""
    return next(filter(None, node.output), "")


def _leading_to(
    results: Iterable[str], cut: Collection[str], maker: Mapping[str, NodeProto]
) -> set[str]:
    """The marks of the nodes that the results need, none beyond the cut."""
    kept: set[str] = set()
    waiting = deque(maker[name] for name in results if name in maker)
    while waiting:
        node = waiting.popleft()
        if _mark(node) in kept:
            continue
        kept.add(_mark(node))
        waiting.extend(maker[n] for n in reads(node) if n in maker and n not in cut)
    return kept


def _refuse_unconnected(
    file: str,
    first: Sequence[NodeProto],
    last: Sequence[NodeProto],
    kept: set[str],
    maker: Mapping[str, NodeProto],
) -> None:
    ends = " or ".join(repr(node_name(node)) for node in last) or "an output"
    for node in first:
        if _mark(node) not in kept:
            raise ExportError(
                f"no path leads from node {node_name(node)!r} of {file} to {ends}",
                "name nodes that lie on one path, the first of them in --from-node",
            )
    starts = {_mark(node) for node in first}
    for node in last if first else ():
        if not starts & _leading_to(node.output, (), maker):
            begins = " or ".join(repr(node_name(start)) for start in first)
            raise ExportError(
                f"no path leads from node {begins} of {file} to {node_name(node)!r}",
                "name nodes that lie on one path, the first of them in --from-node",
            )


def _value(file: str, values: Mapping[str, ValueInfoProto], name: str) -> ValueInfoProto:
    value = values.get(name)
    if value is None or not value.type.tensor_type.HasField("shape"):
        raise ExportError(
            f"the shape of {name!r}, where {file} would be cut, is unknown",
            "cut at another node, or save the file with its shapes inferred",
        )
    return value


def _without_graph(model: ModelProto) -> ModelProto:
    """The model's versions and functions; from IR 4 on, weights need not be inputs."""
    bare = ModelProto(ir_version=max(model.ir_version, 4), producer_name=model.producer_name)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    return bare
