"""Caches of a graph: the inputs that hold what is past, known by what the graph does with them, for
sizes and drawn values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, NodeProto

from exporters.onnx_files.graph import (
    attributes,
    constant_tensors,
    graphs_of,
    inner_graphs,
    nodes_of,
)

_MICROSOFT = "com.microsoft"
_OPERATORS: Mapping[tuple[str, str], tuple[Sequence[int], int]] = {
    (_MICROSOFT, "GroupQueryAttention"): ((3, 4), 2),
    (_MICROSOFT, "SparseAttention"): ((3, 4), 2),
    (_MICROSOFT, "MultiHeadAttention"): ((6, 7), 2),
    (_MICROSOFT, "DecoderMaskedMultiHeadAttention"): ((5, 6), 2),
    (_MICROSOFT, "DecoderMaskedSelfAttention"): ((4,), 3),
    (_MICROSOFT, "Attention"): ((4,), 3),
    ("", "Attention"): ((4, 5), 2),
}
"""Operators of which these inputs are caches, and the axis along which they are."""


@dataclass(frozen=True, slots=True)
class Cache:
    """The input holds what is past along `axis`; `new` holds what a call adds, along `new_axis`."""

    axis: int
    new: str
    new_axis: int


def cache_inputs(graph: GraphProto) -> dict[str, Cache]:
    """The caches by the names of the inputs: those that attention operators take as such, and those
    to which the graph joins what it computes, to give all of it back as an output."""
    # For each tensor that is an input, or a part of one: its name, and where its dimensions stand.
    origins = {
        value.name: (value.name, tuple(range(len(value.type.tensor_type.shape.dim))))
        for value in graph.input
        if value.type.tensor_type.HasField("shape")
    }
    constants = constant_tensors(graphs_of(graph))
    scalars = {name for name, tensor in constants.items() if not tensor.dims}
    caches: dict[str, Cache] = {}
    results = _results(graph)
    for node in nodes_of(graph):
        places, axis = _OPERATORS.get((node.domain, node.op_type), ((), 0))
        new = node.input[0] if node.input else "", -2
        if node.op_type == "Concat" and node.output[0] in results:
            axis = attributes(node).get("axis", 0)
            others = [name for name in node.input[1:] if name not in origins]
            places, new = ((0,), (others[0], axis)) if others else ((), new)
        for name in (node.input[place] for place in places if place < len(node.input)):
            if name in origins and -len(origins[name][1]) <= axis < len(origins[name][1]):
                source, source_places = origins[name]
                caches.setdefault(source, Cache(source_places[axis], *new))
        if node.input and node.input[0] in origins:
            source, source_places = origins[node.input[0]]
            moved = _moved(node, source_places, scalars)
            origins.update(dict.fromkeys(node.output, (source, moved)) if moved else {})
    return caches


def _moved(node: NodeProto, places: tuple[int, ...], scalars: Collection[str]) -> tuple[int, ...]:
    """Where dimensions stand in what the node gives of its first input; () if it gives another."""
    match node.op_type:
        case "Identity" | "Cast" | "Slice" | "Split":
            return places
        case "Transpose":
            perm = attributes(node).get("perm") or range(len(places))[::-1]
            is_whole = sorted(perm) == list(range(len(places)))
            return tuple(places[place] for place in perm) if is_whole else ()
        case "Gather" if places and node.input[-1] in scalars:  # one of several caches
            axis = attributes(node).get("axis", 0) % len(places)
            return (*places[:axis], *places[axis + 1 :])
    return ()


def _results(graph: GraphProto) -> Collection[str]:
    """The tensors that the graph gives as outputs, as they are or beside others."""
    results = {value.name for value in graph.output}
    for node in reversed(list(nodes_of(graph))):
        for place, name in enumerate(node.output):
            if name not in results:
                continue
            if node.op_type in ("Identity", "Cast", "Transpose", "Unsqueeze", "Concat"):
                results.update(node.input)
            elif node.op_type == "If":
                branches = (inner.output[place : place + 1] for inner in inner_graphs(node))
                results.update(value.name for values in branches for value in values)
    return results
