"""What a graph says of the sizes of its open axes: those that its constants impose, axes that must
be equal, and axes that are scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from exporters.onnx_files.graph import ShapeConflict, inferred, nodes_of

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
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    targets = small_integers(model.graph)
    sizes: dict[str, int] = {}
    for node in model.graph.node if dims else ():
        pairs = _equations(node, dims, constants)
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in targets:
            pairs = _reshape_equations(
                dims.get(node.input[0], ()), targets[node.input[1]], set(batches)
            )
        for dimension, size in pairs:
            if isinstance(dimension, str):
                sizes.setdefault(dimension, size)
    return sizes


_ELEMENTWISE = frozenset(
    [
        "Add", "Sub", "Mul", "Div", "Pow", "Where", "Equal", "Greater", "Less", "GreaterOrEqual",
        "LessOrEqual", "And", "Or", "Xor"
    ]
)  # fmt: skip


def equal_axes(model: ModelProto, dims: Mapping[str, Dims]) -> Iterator[tuple[str, str]]:
    """Pairs of axes that meet in one place: in arithmetic, beside what is joined, or as the
    updates of the same number of indices."""
    for node in model.graph.node:
        shapes = [dims.get(name, ()) for name in node.input]
        joined: int | None = None
        if node.op_type == "Concat":
            axes = [a.i for a in node.attribute if a.name == "axis"]
            joined = axes[0] if axes and axes[0] < 0 else (axes or [0])[0] - len(shapes[0])
        elif node.op_type in ("ScatterElements", "ScatterND"):
            shapes = [shape[:1] for shape in shapes[1:]]
        elif node.op_type not in _ELEMENTWISE:
            continue
        for shape, other in pairwise(shapes):
            for place in range(-min(len(shape), len(other)), 0):
                pair = shape[place], other[place]
                if place != joined and isinstance(pair[0], str) and isinstance(pair[1], str):
                    yield pair[0], pair[1]


_RECURRENCES = ("LSTM", "GRU", "RNN")


def scanned_axes(graph: GraphProto, dims: Mapping[str, Dims]) -> Iterator[tuple[str, bool]]:
    """Axes of what recurrences read, and whether they go along them step by step."""
    for node in graph.node:
        attributes = {a.name: a for a in node.attribute}
        if node.op_type in _RECURRENCES:
            layout = attributes["layout"].i if "layout" in attributes else 0
            places = [(node.input[0], layout)]
            states = [(name, 1 - layout) for name in node.input[5:7] if name]
            others = _names_at([(node.input[0], 1 - layout), *states], dims)
            yield from ((axis, False) for axis in others)
        elif node.op_type == "Scan":
            names = node.input[len(node.input) - attributes["num_scan_inputs"].i :]
            axes = attributes["scan_input_axes"].ints if "scan_input_axes" in attributes else ()
            places = list(zip(names, axes or [0] * len(names), strict=False))
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
        strides = next((list(a.ints) for a in node.attribute if a.name == "strides"), [])
        if node.op_type in ("Unsqueeze", "Pad", "Identity", "Cast", "Reshape"):
            signals[node.output[0]] = signals[node.input[0]]
        elif node.op_type == "Conv" and len(strides) == 1 and strides[0] > 1:
            yield signals[node.input[0]], bool(states - constants - {""})


def _names_at(places: Iterable[tuple[str, int]], dims: Mapping[str, Dims]) -> Iterator[str]:
    for name, place in places:
        shape = dims.get(name, ())
        if -len(shape) <= place < len(shape) and isinstance(axis := shape[place], str):
            yield axis


def _equations(
    node: NodeProto, dims: Mapping[str, Dims], constants: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[int | str | None, int]]:
    """Pairs of a dimension of an input and the size that a constant of the node gives it."""
    shapes = [dims.get(name, ()) for name in node.input]
    constant_inputs = [constants.get(name, ()) for name in node.input]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    match node.op_type:
        case "Conv" | "ConvInteger" if len(shapes[0]) > 1 and len(constant_inputs[1]) > 1:
            yield shapes[0][1], constant_inputs[1][1] * attributes.get("group", 1)
        case "ConvTranspose" if len(shapes[0]) > 1 and constant_inputs[1]:
            yield shapes[0][1], constant_inputs[1][0]
        case "MatMul" | "MatMulInteger":
            if shapes[0] and len(constant_inputs[1]) > 1:
                yield shapes[0][-1], constant_inputs[1][-2]
            if len(shapes[1]) > 1 and constant_inputs[0]:
                yield shapes[1][-2], constant_inputs[0][-1]
        case "Gemm" if len(shapes[0]) == 2 and len(constant_inputs[1]) == 2:
            place = 0 if attributes.get("transA", 0) else 1
            yield shapes[0][place], constant_inputs[1][1 if attributes.get("transB", 0) else 0]
        case "LSTM" | "GRU" | "RNN" if len(shapes[0]) == 3 and len(constant_inputs[1]) == 3:
            yield shapes[0][2], constant_inputs[1][2]
        case "BatchNormalization" | "InstanceNormalization" if (
            len(shapes[0]) > 1 and constant_inputs[1]
        ):
            yield shapes[0][1], constant_inputs[1][0]
        case "LayerNormalization" if shapes[0] and constant_inputs[1]:
            yield shapes[0][-1], constant_inputs[1][-1]
        case "GroupQueryAttention" if len(shapes) > 4 and shapes[0] and len(shapes[3]) == 4:
            heads = attributes.get("num_heads", 0)
            if not node.input[1]:  # queries, keys and values are one tensor
                heads += 2 * attributes.get("kv_num_heads", 0)
            if isinstance(width := shapes[0][-1], int) and heads:
                yield shapes[3][3], width // heads
            if attributes.get("sliding_window_cache", 0):
                yield shapes[3][2], attributes.get("local_window_size", 0)
        case "Concat" if len({len(shape) for shape in shapes}) == 1:
            axis = attributes.get("axis", 0) % max(len(shapes[0]), 1)
            for place, sizes in enumerate(zip(*shapes, strict=True)):
                fixed_size = next((size for size in sizes if isinstance(size, int)), None)
                if place != axis and fixed_size is not None:
                    yield from ((size, fixed_size) for size in sizes)
        case "Add" | "Sub" | "Mul" | "Div" if len(shapes) == 2:
            for shape, constant in (
                (shapes[0], constant_inputs[1]),
                (shapes[1], constant_inputs[0]),
            ):
                for dimension, size in zip(reversed(shape), reversed(constant), strict=False):
                    if size > 1:
                        yield dimension, size


def _reshape_equations(
    shape: Dims, target: Sequence[int], batches: set[str]
) -> Iterator[tuple[int | str | None, int]]:
    """The one open dimension of what is reshaped to fixed sizes; a batch beside it counts as 1."""
    names = [d for d in shape if isinstance(d, str)]
    free = [name for name in names if name not in batches] or names
    if len(free) != 1 or None in shape or not all(size > 0 for size in target):
        return
    rest = prod(d for d in shape if isinstance(d, int))
    if rest and prod(target) % rest == 0:
        yield free[0], prod(target) // rest


def small_integers(graph: GraphProto) -> dict[str, list[int]]:
    """The values of the graph's small integer constants, by name."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    small = {}
    for name, tensor in tensors.items():
        if prod(tensor.dims) <= 8 and len(tensor.dims) == 1 and tensor.data_type in (6, 7):
            try:
                small[name] = numpy_helper.to_array(tensor).tolist()
            except ValueError:  # its values lie elsewhere
                continue
    return small
