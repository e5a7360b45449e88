"""A null twin's recipe as an ONNX graph of as few nodes as there can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from exporters.null.recipe import Part, Recipe
from exporters.types import Dimension, TensorSpec

OPSET, IR_VERSION = 17, 8
"""What every engine here takes, with the shapes of single dimensions (`Shape-15`)."""
WIDE = ("float32", "float64")
"""Types that take every number of another type, near enough; the others go by true and false."""


def null_graph(name: str, of: Recipe) -> ModelProto:
    """The graph: `Identity` for a copy, else `Slice` of one element and `Expand`.

    Open sizes stay open: each is that of the input which has it.
    """
    writer = _Writer(of)
    for part in of.parts:
        writer.add(part)
    graph = helper.make_graph(
        writer.nodes,
        name,
        [_info(spec) for spec in of.inputs],
        [_info(part.output) for part in of.parts],
        list(writer.constants.values()),
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


@dataclass(slots=True)
class _Writer:
    """Nodes and constants in the making; names of its own begin with what no tensor's does."""

    recipe: Recipe
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, TensorProto] = field(default_factory=dict)
    _own: str = "null"

    def __post_init__(self) -> None:
        names = [
            spec.name for spec in (*self.recipe.inputs, *(p.output for p in self.recipe.parts))
        ]
        while any(name.startswith(self._own) for name in names):
            self._own += "_"

    def add(self, part: Part) -> None:
        output = part.output
        if part.is_copy:
            if part.reads[0] != output.name:  # else the input is an output by itself
                self._node("Identity", [part.reads[0]], output.name)
            return
        # Expand leaves a size where it is told 1.
        shape = tuple(1 if size in part.along else size for size in output.shape)
        self._node("Expand", [self._element(part), self._shape(shape)], output.name)

    def _element(self, part: Part) -> str:
        """What Expand is to spread, in the output's type."""
        wanted = part.output.dtype
        if not part.reads:
            return self._constant("zero", np.zeros((), wanted))
        types = [self._spec(name).dtype for name in part.reads]
        taken = [self._cut(part), *map(self._first, part.reads[1:])]
        if len(taken) == 1:
            return self._cast(taken[0], types[0], wanted)
        common = wanted if wanted in WIDE else "float32"
        cast = [self._cast(one, dtype, common) for one, dtype in zip(taken, types, strict=True)]
        return self._cast(self._node("Max", cast), common, wanted)

    def _cut(self, part: Part) -> str:
        """Of the first input one element, or one for each step of the sizes that it is along."""
        name = part.reads[0]
        given = self._spec(name).shape
        axes = [place for place, size in enumerate(given) if size not in part.along]
        if axes:
            count, named = len(axes), "_".join(map(str, axes))
            zeros = self._constant(f"zeros_{count}", np.zeros(count, np.int64))
            ones = self._constant(f"ones_{count}", np.ones(count, np.int64))
            where = self._constant(f"axes_{named}", np.array(axes, np.int64))
            name = self._node("Slice", [name, zeros, ones, where])
        if part.view is not None:
            name = self._node("Reshape", [name, self._shape(part.view)])
        return name

    def _first(self, name: str) -> str:
        """The first element of an input, without its dimensions."""
        rank = len(self._spec(name).shape)
        if not rank:
            return name
        zeros = self._constant(f"zeros_{rank}", np.zeros(rank, np.int64))
        return self._node("GatherND", [name, zeros])

    def _spec(self, name: str) -> TensorSpec:
        return next(spec for spec in self.recipe.inputs if spec.name == name)

    def _cast(self, name: str, given: str, wanted: str) -> str:
        """Engines agree on what is not 0, and not on numbers that do not fit their type."""
        for dtype in _through(given, wanted):
            name = self._node("Cast", [name], to=_element_type(dtype))
        return name

    def _shape(self, shape: Sequence[Dimension]) -> str:
        """The name of a tensor that holds it: a constant, unless a size is open."""
        if all(isinstance(size, int) for size in shape):
            text = "x".join(map(str, shape))
            return self._constant(f"shape_{text}", np.array(shape, np.int64))
        return self._node("Concat", [self._size(size) for size in shape], axis=0)

    def _size(self, size: Dimension) -> str:
        if isinstance(size, int):
            return self._constant(f"size_{size}", np.array([size], np.int64))
        name, place = next(self._holders(size))
        return self._node("Shape", [name], start=place, end=place + 1)

    def _holders(self, axis: str) -> Iterator[tuple[str, int]]:
        for spec in self.recipe.inputs:
            if axis in spec.shape:
                yield spec.name, spec.shape.index(axis)

    def _node(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        name = f"{self._own}_{len(self.nodes)}"
        output = output or f"{name}_{op}"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def _constant(self, label: str, array: np.ndarray) -> str:
        name = f"{self._own}_{label}_{array.dtype}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name


def _through(given: str, wanted: str) -> tuple[str, ...]:
    if given == wanted:
        return ()
    return (wanted,) if wanted in (*WIDE, "bool") or given == "bool" else ("bool", wanted)


def _info(spec: TensorSpec) -> ValueInfoProto:
    return helper.make_tensor_value_info(spec.name, _element_type(spec.dtype), spec.shape)


def _element_type(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
