"""What operators want of the values that they take: which index a table and which say how much is
computed, with what a user's program gives there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import NodeProto

from exporters.inputs import SCORE
from exporters.onnx_files.graph import attributes
from exporters.onnx_files.implied import Dims, ShapeValues
from exporters.types import Dimension

SEQUENCE, IMAGE_SIDE, BOXES = 128, 224, 100
"""The usual sizes of a sequence and of the side of an image, and how many boxes are asked for."""
LONG, BEAMS = 64, 4
"""How many tokens a generation adds, and how many beams it follows."""
IOU = 0.5
_LARGE = 1e3
"""A number that a mask adds or sets is at least so far below zero."""

Value = tuple[Dimension | float, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an operand is to be: `role` is a word of `input_roles.ASSUMED`, `of` gives the value of
    the element at a place of it, a sum of sizes and numbers; it is at most the least of `within`,
    where that is not empty."""

    role: str
    of: Callable[[int], Value]
    within: tuple[Dimension, ...] = ()


def _always(role: str, *value: Dimension | float) -> Wanted:
    return Wanted(role, lambda place: value)


_FIXED: Mapping[tuple[str, int], Wanted] = {
    ("Loop", 0): _always("size", SEQUENCE),
    ("Loop", 1): _always("choice", 1),
    ("If", 0): _always("choice", 1),
    ("Range", 0): _always("start", 0),
    ("Range", 1): _always("size", SEQUENCE),
    ("Range", 2): _always("start", 1),
    ("Slice", 1): _always("offset", 0),
    ("Slice", 4): _always("start", 1),
    ("Pad", 1): _always("start", 0),
    ("Trilu", 1): _always("start", 0),
    ("CumSum", 1): _always("start", 0),
    ("OneHot", 1): _always("size", SEQUENCE),
    ("Dropout", 2): _always("choice", 0),
    ("NonMaxSuppression", 2): _always("limit", BOXES),
    ("NonMaxSuppression", 3): _always("threshold", IOU),
    ("NonMaxSuppression", 4): _always("threshold", SCORE),
    ("SplitToSequence", 1): _always("size", 1),
}
"""By operator and place."""
_GENERATIONS: Mapping[str, tuple[Value, ...]] = {
    "BeamSearch": ((1,), (BEAMS,), (1,), (1.0,), (1.0,)),
    "GreedySearch": ((1,), (1.0,)),
    "Sampling": ((1,), (1.0,)),
}
"""Operators that generate text: what follows the longest output."""
_RECURRENCES = frozenset({"LSTM", "GRU", "RNN"})
_TABLES: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "Gather": ((1, 0, 0),),
    "GatherElements": ((1, 0, 0),),
    "ScatterElements": ((1, 0, 0),),
    "Scatter": ((1, 0, 0),),
    "GatherBlockQuantized": ((1, 0, 0),),
    "ArrayFeatureExtractor": ((1, 0, -1),),
    "EmbedLayerNormalization": ((0, 2, 0), (1, 4, 0), (8, 3, 0)),
}
"""Operators of which one input indexes another, by position, and along which axis as a rule."""


def index_tables(node: NodeProto, values: ShapeValues) -> Iterator[tuple[int, Dimension]]:
    """The inputs of a node that are indices, each with the size that they must be below."""
    facts = attributes(node)
    for place, table, usual_axis in _TABLES.get(node.op_type, ()):
        axis = facts.get("axis", facts.get("gather_axis", usual_axis))
        if table < len(node.input) and (size := values.size(node.input[table], axis)) is not None:
            yield place, size
    if node.op_type in ("GatherND", "ScatterND"):
        first, width = facts.get("batch_dims", 0), values.size(node.input[1], -1)
        table_shape = values.shape(node.input[0])
        if isinstance(width, int) and table_shape is not None:
            sizes = table_shape[first : first + width]
            yield from ((1, size) for size in sizes if size is not None)
    if node.op_type == "OneHot" and (depth := values.bounds(node, 1)):
        yield 0, depth[1]


def wanted_at(node: NodeProto, place: int, values: ShapeValues) -> Wanted | None:
    """What a node wants of an input that decides how much it computes; None for others."""
    op = node.op_type
    fixed = _FIXED.get((op, place))
    if fixed is not None:
        return fixed
    shape = values.shape(node.input[0]) if node.input[0] else None
    facts = attributes(node)
    if (op in _RECURRENCES and place == 4) or (op == "ReverseSequence" and place == 1):
        steps = values.size(node.input[0], facts.get("time_axis", facts.get("layout", 0)))
        return _always("length", SEQUENCE if steps is None else steps)
    if op in _GENERATIONS:
        return _generation(op, place, shape)
    match op, place:
        case "Resize", 3:
            return Wanted("size", lambda at: _resized(at, shape, facts.get("axes")))
        case ("Resize", 2) | ("Upsample", 1):
            return Wanted("scale", lambda at: (1 if at < 2 and not _is_flat(shape) else 2,))
        case "Tile", 1:
            rank = len(shape) if shape is not None else 1
            return Wanted("scale", lambda at: (2 if at == rank - 1 else 1,))
        case "Reshape", 1:
            return _reshaped(node, values, shape, bool(facts.get("allowzero")))
        case ("Expand", 1) | ("ConstantOfShape", 0):
            length = values.size(node.input[place], 0) or 1
            own = shape if op == "Expand" else None
            return Wanted("size", lambda at: _filled(at, length, own))
        case "Slice", 2:
            return Wanted("size", lambda at: _end(node, values, at))
        case "TopK", 1:
            size = values.size(node.input[0], facts.get("axis", -1))
            return Wanted("limit", lambda at: (BOXES,), () if size is None else (size,))
        case "Split", 1:
            size, count = values.size(node.input[0], facts.get("axis", 0)), len(node.output)
            even = size if isinstance(size, int) else count  # the first parts take what is left
            return Wanted("size", lambda at: (even // count + (at < even % count),))
    return None


def _is_flat(shape: Dims | None) -> bool:
    return shape is not None and len(shape) < 3


def _generation(op: str, place: int, shape: Dims | None) -> Wanted | None:
    if place == 1:
        prompt = shape[1] if shape is not None and len(shape) == 2 else None
        return _always("limit", *(() if prompt is None else (prompt,)), LONG)
    following = _GENERATIONS[op]
    return _always("limit", *following[place - 2]) if 2 <= place < len(following) + 2 else None


def _resized(at: int, shape: Dims | None, axes: list[int] | None) -> Value:
    """An image keeps its batch and its channels and becomes as large as usual."""
    rank = len(shape) if shape is not None else 4
    place = axes[at] if axes is not None and at < len(axes) else at
    if shape is not None and axes is None and at < 2 and rank > 2 and at < rank:
        size = shape[at]
        return (1 if size is None else size,)
    return (SEQUENCE if rank == 3 and place >= 2 else IMAGE_SIDE,)


def _filled(at: int, length: Dimension, shape: Dims | None) -> Value:
    """A shape to be filled: as the tensor has it, else a batch of one and usual sizes."""
    if shape is not None and isinstance(length, int):
        place = at - (length - len(shape))
        size = shape[place] if 0 <= place < len(shape) else None
        if size is not None and size != 1:
            return (size,)
    return (1,) if at == 0 and length != 1 else (SEQUENCE,)


def _end(node: NodeProto, values: ShapeValues, at: int) -> Value:
    """A part ends where the tensor does."""
    axes = values.sizes(node.input[3]) if len(node.input) > 3 and node.input[3] else None
    axis = axes[at] if axes is not None and at < len(axes) else at
    size = values.size(node.input[0], axis) if isinstance(axis, int) else None
    return (SEQUENCE if size is None else size,)


def _reshaped(node: NodeProto, values: ShapeValues, shape: Dims | None, keeps_zero: bool) -> Wanted:
    """A target that has as many elements as the tensor: of one that is an input as a whole all but
    the last size are the tensor's own."""
    target = values.sizes(node.input[1])
    length = values.size(node.input[1], 0)

    def whole(at: int) -> Value:
        if at == (length if isinstance(length, int) else at + 1) - 1:
            return (-1,)
        is_own = not keeps_zero and shape is not None and at < len(shape) - 1
        return (0 if is_own else 1,)

    def single(at: int) -> Value:
        known = [s for place, s in enumerate(target or ()) if place != at]
        own = shape[at] if shape is not None and at < len(shape) else None
        if -1 in known or shape is None or None in known or None in shape:
            return (1 if own is None else own,)
        open_sizes = Counter(s for s in shape if isinstance(s, str))
        open_sizes -= Counter(s for s in known if isinstance(s, str))
        rest = prod(s for s in shape if isinstance(s, int))
        product = prod(s for s in known if isinstance(s, int))
        if not open_sizes and product and rest % product == 0:
            return (rest // product,)
        if open_sizes.total() == 1 and rest == product:
            return (*open_sizes,)
        return (1 if own is None else own,)

    return Wanted("size", single if target is not None else whole)


def is_large_negative(number: np.ndarray | None) -> bool:
    """Whether a constant is what masked scores are set to."""
    if number is None or not number.size or number.dtype.kind not in "fi":
        return False
    return bool((number <= -_LARGE).all())
