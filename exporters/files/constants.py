"""What of a graph follows from its weights alone, and which weight each node reads.

A weight that is only transposed, reshaped or cast is still that weight. What counts up or is made
of sizes is none. A constant of one value is: so are weights written of which only sizes matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from exporters.files.shapes import Shape, known_shapes

_SAME_VALUES = frozenset(
    {
        "Cast",
        "DequantizeLinear",
        "Expand",
        "Flatten",
        "Identity",
        "QuantizeLinear",
        "Reshape",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
"""Operators whose output has the values of the first input in another form."""
_OF_SIZES = frozenset({"EyeLike", "Range", "Shape", "Size"})
_RANDOM = ("Random", "Bernoulli", "Multinomial")


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant of the graph; `key` tells it from those of inner graphs that are called alike.

    `kind` is its TensorProto type. Both are None where inference does not know them. A constant
    that is made from sizes is not `stored`.
    """

    key: str
    kind: int | None
    shape: Shape | None
    stored: bool = True


Constants = Mapping[str, Weight]
"""The weight behind each constant tensor of a graph, by the tensor's name."""


@dataclass(frozen=True, slots=True)
class Read:
    """A weight that a node takes together with data; `place` is None for an inner graph's result.

    `kind` is the type in which it is read.
    """

    weight: Weight
    node: NodeProto | None
    place: int | None
    kind: int | None


def constants(graph: GraphProto, values: Mapping[str, ValueInfoProto]) -> Constants:
    """The constant tensors of the outer graph."""
    found: dict[str, Weight] = {}
    for _ in _walk(graph, found, values, ""):
        pass
    return found


def weights_read(graph: GraphProto, values: Mapping[str, ValueInfoProto]) -> Iterator[Read]:
    """Each reading of a weight by a node that takes data too, inner graphs included."""
    yield from _walk(graph, {}, values, "")


def _walk(
    graph: GraphProto,
    known: dict[str, Weight],
    values: Mapping[str, ValueInfoProto],
    within: str,
) -> Iterator[Read]:
    """Adds the graph's constants to `known` on the way."""
    shapes = known_shapes(values)
    for tensor in graph.initializer:
        known[tensor.name] = _stored(tensor, f"{within}{tensor.name}")
    for number, node in enumerate(graph.node):
        names = [name for name in node.input if name]
        inner = list(_inner_graphs(node))
        is_random = node.op_type.startswith(_RANDOM)
        if not inner and not is_random and all(name in known for name in names):
            for output in filter(None, node.output):
                kind = _kind(values, output)
                made = Weight(f"{within}{output}", kind, shapes.get(output))
                known[output] = _folded(node, made, known)
            continue
        for place, name in enumerate(node.input):
            if name in known:
                kind = _kind(values, name)
                weight = known[name]
                yield Read(weight, node, place, weight.kind if kind is None else kind)
        for place, part in enumerate(inner):
            # Names inside are the inner graph's own, whatever inference says of equal ones outside.
            inside = dict(known)
            yield from _walk(part, inside, {}, f"{within}{number}.{place}/")
            for value in part.output:
                if value.name in inside:
                    weight = inside[value.name]
                    yield Read(weight, None, None, weight.kind)


def _folded(node: NodeProto, made: Weight, known: Mapping[str, Weight]) -> Weight:
    """The weight that the output of a node over constants is."""
    taken = [known[name] for name in node.input if name]
    if node.op_type == "Constant":
        tensors = [a.t for a in node.attribute if a.name == "value"]
        return _stored(tensors[0], made.key) if tensors else made
    if node.op_type in _SAME_VALUES and taken:
        return taken[0]
    if node.op_type in _OF_SIZES or not any(weight.stored for weight in taken):
        return Weight(made.key, made.kind, made.shape, stored=False)
    return made


def _stored(tensor: TensorProto, key: str) -> Weight:
    return Weight(key, tensor.data_type, tuple(tensor.dims))


def _kind(values: Mapping[str, ValueInfoProto], name: str) -> int | None:
    return values[name].type.tensor_type.elem_type if name in values else None


def _inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g
