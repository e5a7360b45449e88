"""What is known of a graph's tensors before it runs: shapes with named sizes, small constants, and
the sizes and positions that nodes compute from shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from exporters.onnx_files.graph import attributes, constant_tensors, graphs_of, small_arrays
from exporters.onnx_files.implied import Dims, dims_of
from exporters.types import Dimension, TensorSpec

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
