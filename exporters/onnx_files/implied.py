"""What a graph says before it runs: the sizes that its constants impose on open axes, axes that
must be equal or are scanned, the shapes of its tensors, and the sizes and positions that nodes
compute from shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from exporters.onnx_files.graph import (
    ShapeConflict,
    attributes,
    constant_tensors,
    graphs_of,
    inferred,
    nodes_of,
    small_arrays,
)
from exporters.types import Dimension, TensorSpec

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


_KEPT_ELEMENTS = 4096
"""A constant up to this size may be an offset or a bound; a larger one is a table."""
_MOST_SIZES = 16
_KEPT = frozenset({"Identity", "Cast", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Tile"})
"""Nodes after which a tensor's elements are the same, as far as counting them goes."""


class ShapeValues:
    """Of a graph's tensors; `follow` is called for each node in their order."""

    def __init__(self, model: ModelProto, specs: Sequence[TensorSpec]) -> None:
        constants = constant_tensors(graphs_of(model.graph))
        self._shapes = {
            **dims_of(model),
            **{name: tuple(tensor.dims) for name, tensor in constants.items()},
            **{spec.name: spec.shape for spec in specs},
        }
        self._numbers = small_arrays(constants, _KEPT_ELEMENTS)
        self._sizes: dict[str, Dims] = {}
        self._counted: dict[str, Dimension | None] = {
            spec.name: spec.shape[-1] for spec in specs if spec.count_up and spec.shape
        }

    def shape(self, name: str) -> Dims | None:
        return self._shapes.get(name)

    def size(self, name: str, axis: int) -> Dimension | None:
        """The size of a tensor along an axis; None where it is not known."""
        shape = self._shapes.get(name)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return shape[axis]

    def number(self, name: str) -> np.ndarray | None:
        """A small constant."""
        return self._numbers.get(name)

    def bounds(self, node: NodeProto, place: int) -> tuple[int, int] | None:
        """The least and the largest value of a small constant of whole numbers."""
        value = self._numbers.get(node.input[place]) if place < len(node.input) else None
        if value is None or not value.size or value.dtype.kind not in "iuf":
            return None
        ends = value.min(), value.max()
        if not all(np.isfinite(end) and end == np.floor(end) for end in ends):
            return None
        return int(ends[0]), int(ends[1])

    def sizes(self, name: str) -> Dims | None:
        """The elements of a vector of sizes, None for each that is not known."""
        if name in self._sizes:
            return self._sizes[name]
        value = self._numbers.get(name)
        if (
            value is None
            or value.dtype.kind not in "iu"
            or value.ndim > 1
            or value.size > _MOST_SIZES
        ):
            return None
        return tuple(int(item) for item in value.ravel())

    def counts(self, name: str) -> bool:
        """Whether a tensor counts positions, however many."""
        return name in self._counted or self.counted_to(name) is not None

    def counted_to(self, name: str) -> Dimension | None:
        """How many positions a tensor counts, 0 and up; None where that is not known."""
        if name in self._counted:
            return self._counted[name]
        value = self._numbers.get(name)
        if value is None or value.dtype.kind not in "iu" or value.size < 2:
            return None
        flat = value.ravel()
        return int(flat.size) if np.array_equal(flat, np.arange(flat.size)) else None

    def follow(self, node: NodeProto) -> None:
        """Know what a node gives where it follows from constants and shapes."""
        if not node.output:
            return
        name, first = node.output[0], node.input[0] if node.input else ""
        match node.op_type:
            case "Shape" if first in self._shapes:
                ends = attributes(node)
                self._sizes[name] = self._shapes[first][ends.get("start", 0) : ends.get("end")]
            case "ConstantOfShape" if node.attribute:
                self._numbers[name] = numpy_helper.to_array(node.attribute[0].t)
            case "Range":
                limit = self.sizes(node.input[1]) if self.sizes(first) == (0,) else None
                self._counted[name] = limit[0] if limit is not None else None
            case "Gather" | "Slice" | "Concat":
                self._pick(node, name, first)
        if node.op_type in _KEPT:
            tables: tuple[dict[str, Any], ...] = (self._numbers, self._sizes, self._counted)
            for table in (table for table in tables if first in table):
                table[name] = table[first]
        elif node.op_type == "Slice" and first in self._counted:
            self._counted[name] = self.size(name, -1) or self._counted[first]
        elif node.op_type == "DequantizeLinear" and first in self._shapes:
            self._shapes.setdefault(name, self._shapes[first])

    def _pick(self, node: NodeProto, name: str, first: str) -> None:
        """Elements of a vector of sizes, or several put together."""
        if node.op_type == "Concat":
            parts = [self._sizes_or_gaps(part) for part in node.input]
            if all(part is not None for part in parts):
                self._sizes[name] = tuple(size for part in parts for size in part or ())
            return
        source = self._sizes.get(first)
        if source is None:
            return
        if node.op_type == "Gather":
            index = self.number(node.input[1])
            with suppress(IndexError):
                if index is not None:
                    self._sizes[name] = tuple(source[int(i)] for i in index.ravel())
        elif len(node.input) > 2:
            begin, end = self.bounds(node, 1), self.bounds(node, 2)
            if begin is not None and end is not None:
                self._sizes[name] = source[begin[0] : end[0]]

    def _sizes_or_gaps(self, name: str) -> Dims | None:
        """As `sizes`, None for each element of another small vector."""
        sizes, shape = self.sizes(name), self._shapes.get(name)
        if sizes is not None or shape is None or len(shape) > 1:
            return sizes
        length = shape[0] if shape else 1
        return (None,) * length if isinstance(length, int) and length <= _MOST_SIZES else None
