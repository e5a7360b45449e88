"""Sizes for the open axes of a user's graph: what the graph implies, else the usual ones.

Three sources, in this order: equations that the graph's operators impose on a dimension (the
channels of a convolution, the rows of a matrix, a reshape to fixed sizes), names that are sums of
other axes (`past + sequence`), and the usual size of what the axis counts: 1 for a batch, 128 for
a sequence, 224 for the side of an image. Shape inference then tries the result, and where the
sizes do not fit together the constants of the graph are tried in their place. An axis that none of
these decides has no size, and a person must set it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from exporters.files.caches import SLIDING_NAME
from exporters.files.outline_request import with_sums
from exporters.files.shapes import ShapeConflict, inferred
from exporters.types import TensorSpec

BATCH, SEQUENCE, IMAGE_SIDE = 1, 128, 224
SEARCH_S = 5.0
"""So long other sizes are tried where the usual ones do not fit together."""
_LARGEST_CANDIDATE = 4096
_MOST_CANDIDATES = 24

_BATCH_NAME = re.compile(r"^(n|b|bs|batch.*|.*[_.]batch|.*batch_?size)$", re.IGNORECASE)
_SEQUENCE_NAME = re.compile(
    r"seq|len|time|token|frame|step|past|context|word|text|audio|sample|^[tls]$", re.IGNORECASE
)
_SIDE_NAME = re.compile(r"height|width|^[hw]$|(^|_)[hw]($|_)|side|resolution", re.IGNORECASE)
_TOTAL_NAME = re.compile(r"total", re.IGNORECASE)
_PAST_NAME = re.compile(r"past|cache", re.IGNORECASE)

Dims = tuple[int | str | None, ...]


def sums(axes: Sequence[str], sequence: str) -> dict[str, tuple[str, ...]]:
    """Axes that are sums: each with its addends, which are other axes or numbers.

    A name says so itself (`past + 1`), or is the total of a past and of the `sequence`.
    """
    found: dict[str, tuple[str, ...]] = {}
    for axis in axes:
        addends = tuple(term.strip() for term in axis.split("+"))
        if len(addends) > 1 and all(term in axes or term.isdecimal() for term in addends):
            found[axis] = addends
    counted = [name for name in axes if _PAST_NAME.search(name) and name not in found]
    past = min(counted, key=_is_secondary_cache, default="")
    for axis in axes:
        if axis in found or not _TOTAL_NAME.search(axis) or not past:
            continue
        rest = _TOTAL_NAME.sub("", axis).strip("_")
        current = rest if rest in axes else sequence
        if current and current not in (axis, past):
            found[axis] = (past, current)
    return found


def _is_secondary_cache(axis: str) -> tuple[bool, bool]:
    """Whether the axis is that of a sliding window, or does not count what is past."""
    return bool(SLIDING_NAME.search(axis)), "past" not in axis.lower()


def assumed_sizes(
    inputs: Sequence[TensorSpec], axes: Sequence[str], batch: str, sequence: str, model: ModelProto
) -> dict[str, int]:
    """A size for each axis that has one, those that are sums among them."""
    totals = sums(axes, sequence)
    free = [axis for axis in axes if axis not in totals]
    usual = {axis: _usual(axis, inputs, batch, sequence) for axis in free}
    implied = _implied(model, {axis for axis in free if usual[axis] == BATCH})
    sizes = {axis: size for axis in free if (size := implied.get(axis, usual[axis])) is not None}
    if len(sizes) < len(free):
        return with_sums(sizes, totals)
    movable = [axis for axis in free if axis not in implied]
    return with_sums(_fitting(model, sizes, totals, movable), totals)


def _usual(axis: str, inputs: Sequence[TensorSpec], batch: str, sequence: str) -> int | None:
    """The usual size of what this axis counts: by its name, else by its place in the inputs."""
    if _BATCH_NAME.search(axis):
        return BATCH
    if axis == sequence or _SEQUENCE_NAME.search(axis):
        return SEQUENCE
    if _SIDE_NAME.search(axis):
        return IMAGE_SIDE
    if axis == batch:
        return BATCH
    places = [
        (spec, place) for spec in inputs for place, size in enumerate(spec.shape) if size == axis
    ]
    if places and all(place == 0 and len(spec.shape) > 1 for spec, place in places):
        return BATCH
    return next(filter(None, (_by_place(spec, place) for spec, place in places)), None)


def _by_place(spec: TensorSpec, place: int) -> int | None:
    """What a dimension of such an input usually counts."""
    shape = spec.shape
    if len(shape) == 2 and place == 1:
        return SEQUENCE if np.dtype(spec.dtype).kind in "iub" else None
    if len(shape) == 3:
        if place == 1:
            return SEQUENCE if isinstance(shape[2], int) else None
        return SEQUENCE if place == 2 and isinstance(shape[1], int) else None
    if len(shape) == 4:
        is_last = isinstance(shape[3], int) and shape[3] <= 4 and place in (1, 2)
        if is_last or (place in (2, 3) and isinstance(shape[3], str)):
            return IMAGE_SIDE
        return SEQUENCE if place == 2 else None
    return None


def _implied(model: ModelProto, batches: Iterable[str]) -> dict[str, int]:
    """The sizes that operators with constants impose; the first one counts for an axis."""
    try:
        values = inferred(model)
    except ShapeConflict:
        return {}
    # Behind operators that ONNX does not define, only what the file declares is known.
    declared = {value.name: value for value in model.graph.value_info}
    dims: dict[str, Dims] = {
        name: tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in value.type.tensor_type.shape.dim
        )
        for name, value in {**declared, **values}.items()
        if value.type.tensor_type.HasField("shape")
    }
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    targets = _small_integers(model.graph)
    sizes: dict[str, int] = {}
    for node in model.graph.node:
        pairs = _equations(node, dims, constants)
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in targets:
            pairs = _reshaped(dims.get(node.input[0], ()), targets[node.input[1]], set(batches))
        for dimension, size in pairs:
            if isinstance(dimension, str):
                sizes.setdefault(dimension, size)
    return sizes


def _equations(
    node: NodeProto, dims: Mapping[str, Dims], constants: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[int | str | None, int]]:
    """Pairs of a dimension of an input and the size that a constant of the node gives it."""
    shapes = [dims.get(name, ()) for name in node.input]
    fixed = [constants.get(name, ()) for name in node.input]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    match node.op_type:
        case "Conv" | "ConvInteger" if len(shapes[0]) > 1 and len(fixed[1]) > 1:
            yield shapes[0][1], fixed[1][1] * attributes.get("group", 1)
        case "ConvTranspose" if len(shapes[0]) > 1 and fixed[1]:
            yield shapes[0][1], fixed[1][0]
        case "MatMul" | "MatMulInteger":
            if shapes[0] and len(fixed[1]) > 1:
                yield shapes[0][-1], fixed[1][-2]
            if len(shapes[1]) > 1 and fixed[0]:
                yield shapes[1][-2], fixed[0][-1]
        case "Gemm" if len(shapes[0]) == 2 and len(fixed[1]) == 2:
            place = 0 if attributes.get("transA", 0) else 1
            yield shapes[0][place], fixed[1][1 if attributes.get("transB", 0) else 0]
        case "LSTM" | "GRU" | "RNN" if len(shapes[0]) == 3 and len(fixed[1]) == 3:
            yield shapes[0][2], fixed[1][2]
        case "BatchNormalization" | "InstanceNormalization" if len(shapes[0]) > 1 and fixed[1]:
            yield shapes[0][1], fixed[1][0]
        case "LayerNormalization" if shapes[0] and fixed[1]:
            yield shapes[0][-1], fixed[1][-1]
        case "GroupQueryAttention" if len(shapes) > 4 and shapes[0] and len(shapes[3]) == 4:
            heads = attributes.get("num_heads", 0)
            if not node.input[1]:  # queries, keys and values are one tensor
                heads += 2 * attributes.get("kv_num_heads", 0)
            if isinstance(width := shapes[0][-1], int) and heads:
                yield shapes[3][3], width // heads
            if attributes.get("sliding_window_cache", 0):
                yield shapes[3][2], attributes.get("local_window_size", 0)
        case "Add" | "Sub" | "Mul" | "Div" if len(shapes) == 2:
            for shape, constant in ((shapes[0], fixed[1]), (shapes[1], fixed[0])):
                for dimension, size in zip(reversed(shape), reversed(constant), strict=False):
                    if size > 1:
                        yield dimension, size


def _reshaped(
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


def _small_integers(graph: GraphProto) -> dict[str, list[int]]:
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


def _fitting(
    model: ModelProto,
    sizes: Mapping[str, int],
    totals: Mapping[str, tuple[str, ...]],
    movable: Sequence[str],
) -> dict[str, int]:
    """The sizes if they fit together, else with that one changed with which they do."""
    if _fits(model, with_sums(sizes, totals)):
        return dict(sizes)
    until = time.monotonic() + SEARCH_S
    for size in _candidates(model):
        for axis in movable:
            changed = {**sizes, axis: size}
            if time.monotonic() > until:
                return dict(sizes)
            if _fits(model, with_sums(changed, totals)):
                return changed
    return dict(sizes)


def _fits(model: ModelProto, point: Mapping[str, int]) -> bool:
    try:
        inferred(model, point)
    except ShapeConflict:
        return False
    return True


def _candidates(model: ModelProto) -> list[int]:
    """Sizes that the graph's constants name, the most frequent first, then powers of two."""
    counts: dict[int, int] = {}
    for tensor in model.graph.initializer:
        for size in tensor.dims:
            counts[size] = counts.get(size, 0) + 1
    for values in _small_integers(model.graph).values():
        for size in values:
            counts[size] = counts.get(size, 0) + 1
    likely = [n for n in sorted(counts, key=lambda n: -counts[n]) if 1 <= n <= _LARGEST_CANDIDATE]
    powers = [2**exponent for exponent in range(13)]
    return list(dict.fromkeys((*likely[:_MOST_CANDIDATES], *powers)))
