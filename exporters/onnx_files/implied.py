"""What a graph says of the sizes of its open axes: those that its constants impose, axes that must
be equal, and axes that are scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from onnx import GraphProto, ModelProto, NodeProto

from exporters.onnx_files.graph import (
    ShapeConflict,
    attributes,
    constant_tensors,
    inferred,
    nodes_of,
    small_arrays,
)

Dims = tuple[int | str | None, ...]


def dims_of(model: ModelProto) -> dict[str, Dims]:
    """The dimensions of each tensor, as far as inference knows them; none where it fails."""
    try:
        values = inferred(model)
    except ShapeConflict:
        return {}
    # Behind operators that ONNX does not define, only what the file declares is known.
    declared = {value.name: value for value in model.graph.value_info}
    return {
        name: tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in value.type.tensor_type.shape.dim
        )
        for name, value in {**declared, **values}.items()
        if value.type.tensor_type.HasField("shape")
    }


def imposed_sizes(
    model: ModelProto, dims: Mapping[str, Dims], batches: Iterable[str]
) -> dict[str, int]:
    """The sizes that operators with constants impose; the first one counts for an axis."""
    constants = constant_tensors([model.graph])
    targets = small_arrays(constants, 8)
    sizes: dict[str, int] = {}
    for node in model.graph.node if dims else ():
        shapes = [dims.get(name, ()) for name in node.input]
        held = [tuple(constants[name].dims) if name in constants else () for name in node.input]
        pairs = [*_equations(node, shapes, held)]
        if node.op_type != "Concat":  # what is computed may be spread over the other's size
            names = [tuple(d if isinstance(d, str) else None for d in shape) for shape in shapes]
            shapes = [own or open_sizes for own, open_sizes in zip(held, names, strict=True)]
        pairs += _meeting(node, shapes)
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in targets:
            pairs += _reshaped(
                dims.get(node.input[0], ()), targets[node.input[1]].ravel().tolist(), set(batches)
            )
        for pair in pairs:
            for dimension, size in (pair, pair[::-1]):
                if isinstance(dimension, str) and isinstance(size, int) and size > 1:
                    sizes.setdefault(dimension, size)
    return sizes


_ELEMENTWISE = frozenset(
    [
        "Add", "Sub", "Mul", "Div", "Pow", "Where", "Equal", "Greater", "Less", "GreaterOrEqual",
        "LessOrEqual", "And", "Or", "Xor"
    ]
)  # fmt: skip
Pair = tuple[int | str | None, int | str | None]


def equal_axes(model: ModelProto, dims: Mapping[str, Dims]) -> Iterator[tuple[str, str]]:
    """Pairs of axes that meet in one place."""
    for node in model.graph.node:
        for axis, other in _meeting(node, [dims.get(name, ()) for name in node.input]):
            if isinstance(axis, str) and isinstance(other, str):
                yield axis, other


def _meeting(node: NodeProto, shapes: Sequence[Dims]) -> Iterator[Pair]:
    """Dimensions that meet in one place: in arithmetic, beside what is joined, or as the updates of
    the same number of indices."""
    joined: int | None = None
    if node.op_type == "Concat":
        axis = attributes(node).get("axis", 0)
        joined = axis if axis < 0 else axis - len(shapes[0])
    elif node.op_type in ("ScatterElements", "ScatterND"):
        shapes = [shape[:1] for shape in shapes[1:]]
    elif node.op_type not in _ELEMENTWISE:
        return
    for shape, other in pairwise(shapes):
        for place in range(-min(len(shape), len(other)), 0):
            if place != joined:
                yield shape[place], other[place]


_RECURRENCES = ("LSTM", "GRU", "RNN")


def scanned_axes(graph: GraphProto, dims: Mapping[str, Dims]) -> Iterator[tuple[str, bool]]:
    """Axes of what recurrences read, and whether they go along them step by step."""
    for node in graph.node:
        facts = attributes(node)
        if node.op_type in _RECURRENCES:
            layout = facts.get("layout", 0)
            places = [(node.input[0], layout)]
            states = [(name, 1 - layout) for name in node.input[5:7] if name]
            others = _names_at([(node.input[0], 1 - layout), *states], dims)
            yield from ((axis, False) for axis in others)
        elif node.op_type == "Scan":
            names = node.input[len(node.input) - facts["num_scan_inputs"] :]
            axes = facts.get("scan_input_axes", [0] * len(names))
            places = list(zip(names, axes, strict=False))
        else:
            continue
        yield from ((axis, True) for axis in _names_at(places, dims))


def sampled_axes(graph: GraphProto) -> Iterator[tuple[str, bool]]:
    """The axes of waveforms, one channel of which a convolution takes steps of many samples; and
    whether they come in chunks, between which a recurrence keeps its state."""
    signals: dict[str, str] = {}
    for value in graph.input:
        dims = [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        if (len(dims) == 2 or (len(dims) == 3 and dims[1] == 1)) and isinstance(dims[-1], str):
            signals[value.name] = dims[-1]
    constants = {tensor.name for tensor in graph.initializer}
    states = {n for node in graph.node if node.op_type in _RECURRENCES for n in node.input[5:6]}
    for node in nodes_of(graph):
        if not node.input or node.input[0] not in signals:
            continue
        strides = attributes(node).get("strides", ())
        if node.op_type in ("Unsqueeze", "Pad", "Identity", "Cast", "Reshape"):
            signals[node.output[0]] = signals[node.input[0]]
        elif node.op_type == "Conv" and len(strides) == 1 and strides[0] > 1:
            yield signals[node.input[0]], bool(states - constants - {""})


def _names_at(places: Iterable[tuple[str, int]], dims: Mapping[str, Dims]) -> Iterator[str]:
    for name, place in places:
        shape = dims.get(name, ())
        if -len(shape) <= place < len(shape) and isinstance(axis := shape[place], str):
            yield axis


_IMPOSED: Mapping[str, Sequence[tuple[int, int, int, int]]] = {
    **dict.fromkeys(("Conv", "ConvInteger"), ((0, 1, 1, 1),)),
    **dict.fromkeys(("BatchNormalization", "ConvTranspose", "Gemm"), ((0, 1, 1, 0),)),
    "InstanceNormalization": ((0, 1, 1, 0),),
    "LayerNormalization": ((0, -1, 1, -1),),
    **dict.fromkeys(("MatMul", "MatMulInteger"), ((0, -1, 1, -2), (1, -2, 0, -1))),
    **dict.fromkeys(_RECURRENCES, ((0, 2, 1, 2),)),
}
"""By operator: an input, its axis, and the constant and the axis of it that have the same size."""


def _equations(
    node: NodeProto, shapes: Sequence[Dims], constants: Sequence[tuple[int, ...]]
) -> Iterator[Pair]:
    """Pairs of a dimension of an input and the size that a constant of the node gives it."""
    facts = attributes(node) if node.op_type in (*_IMPOSED, "GroupQueryAttention") else {}
    for place, axis, constant, of_constant in _IMPOSED.get(node.op_type, ()):
        shape = shapes[place][:: -1 if facts.get("transA") else 1]
        held = constants[constant][:: -1 if facts.get("transB") else 1]
        if -len(shape) <= axis < len(shape) and -len(held) <= of_constant < len(held):
            groups = facts.get("group", 1) if node.op_type in ("Conv", "ConvInteger") else 1
            yield shape[axis], held[of_constant] * groups
    if node.op_type == "GroupQueryAttention" and len(shapes) > 4 and len(shapes[3]) == 4:
        heads = facts.get("num_heads", 0)
        if not node.input[1]:  # queries, keys and values are one tensor
            heads += 2 * facts.get("kv_num_heads", 0)
        if shapes[0] and isinstance(width := shapes[0][-1], int) and heads:
            yield shapes[3][3], width // heads
        if facts.get("sliding_window_cache", 0):
            yield shapes[3][2], facts.get("local_window_size", 0)


def _reshaped(shape: Dims, target: Sequence[int], batches: set[str]) -> Iterator[Pair]:
    """The one open dimension of what is reshaped to fixed sizes; a batch beside it counts as 1."""
    names = [d for d in shape if isinstance(d, str)]
    free = [name for name in names if name not in batches] or names
    if len(free) != 1 or None in shape or not all(size > 0 for size in target):
        return
    rest = prod(d for d in shape if isinstance(d, int))
    if rest and prod(target) % rest == 0:
        yield free[0], prod(target) // rest
