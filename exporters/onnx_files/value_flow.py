"""Where the values of a graph's inputs go: which node takes them as an index, a size, a length, a
limit, a choice or a mask, through casts, arithmetic, model-local functions and inner graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto

from exporters.onnx_files.graph import attributes, inner_graphs
from exporters.onnx_files.implied import ShapeValues
from exporters.onnx_files.node_demands import (
    Wanted,
    index_tables,
    is_large_negative,
    wanted_at,
)
from exporters.types import Dimension, TensorSpec

_MOVED_INPUTS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"), (0,)),
    **dict.fromkeys(("Expand", "Slice", "Split", "Tile", "Pad", "Gather", "GatherND"), (0,)),
    **dict.fromkeys(("GatherElements", "Ceil", "Floor", "Round", "ReduceMax", "ReduceMin"), (0,)),
    "Where": (1, 2),
    "Concat": range(1024),
}
"""Nodes that give the values of these inputs as they are."""
_COMPARED = {
    "Equal": (1, 0),
    "Less": (0, -1),
    "LessOrEqual": (1, 0),
    "Greater": (0, 1),
    "GreaterOrEqual": (-1, 0),
}
"""How far from a constant a value lies where the comparison fails, and where it holds: below, at or
above it."""
_MOST_CHOICES = 64
_MOST_TRACKS = 64
"""Of a tensor so many are followed: a graph may join one input again and again."""


@dataclass(frozen=True, slots=True)
class Use:
    """Values of an input that suit one node.

    They lie between `least` and `largest`, None where nothing bounds them, and below the sizes
    `within`. With `must` the node fails beyond them, else it only cuts them off. `value` is the one
    that is usual there: a sum of sizes and numbers, of the input's element `element`, of all where
    that is None. `role` says what for: "" for an index, "mask", or a word of `ASSUMED`. `shifted`
    that an offset was added on the way.
    """

    role: str = ""
    least: int | None = None
    largest: int | None = None
    within: tuple[Dimension, ...] = ()
    must: bool = True
    shifted: bool = False
    value: tuple[Dimension | float, ...] | None = None
    element: int | None = None


@dataclass(frozen=True, slots=True)
class _Track:
    """A tensor whose values are `input` x `scale` + an offset between `least` and `largest`.

    `cut` says that they have been cut off on the way. It holds the input's `element`, all of them
    where that is None, the first of all at the place `shift`, None where the places are not known.
    A `vague` one was computed with what is not known.
    `truth` are the input's values with which a boolean fails and holds.
    """

    input: str
    scale: Fraction = Fraction(1)
    least: int = 0
    largest: int = 0
    cut: bool = False
    element: int | None = None
    shift: int | None = 0
    vague: bool = False
    truth: tuple[float, float] | None = None

    def between(self, least: int, largest: int) -> Use | None:
        """The input's values that bring this tensor's between the two; None if none do."""
        if self.vague:
            return None
        ends = (least - self.least) / self.scale, (largest - self.largest) / self.scale
        low, high = ceil(min(ends)), floor(max(ends))
        if low > high:
            return None
        return Use("", low, high, must=not self.cut, shifted=self.is_shifted)

    @property
    def is_shifted(self) -> bool:
        return bool(self.least or self.largest)

    def giving(self, value: tuple[Dimension | float, ...]) -> tuple[Dimension | float, ...] | None:
        """The input's value with which this tensor has that one; None where it is no sum."""
        if self.vague or self.least != self.largest or (self.scale != 1 and not _is_number(value)):
            return None
        if self.scale == 1:
            return (*value, -self.least) if self.least else value
        found = (Fraction(sum(value)) - self.least) / self.scale  # type: ignore[arg-type]
        return (int(found) if found.denominator == 1 else float(found),)


def _is_number(value: Sequence[Dimension | float]) -> bool:
    return not any(isinstance(term, str) for term in value)


def uses_of(model: ModelProto, specs: Sequence[TensorSpec]) -> dict[str, list[Use]]:
    """What is done with the values of each input, wherever in the graph and its inner graphs; the
    functions of `model` have been written out."""
    flow = _Flow(model, specs)
    flow.through(model.graph.node)
    return flow.uses


class _Flow:
    def __init__(self, model: ModelProto, specs: Sequence[TensorSpec]) -> None:
        self._values = ShapeValues(model, specs)
        self._lengths = {spec.name: spec.shape[0] if len(spec.shape) == 1 else 1 for spec in specs}
        self._tracks: dict[str, list[_Track]] = {
            spec.name: [_Track(spec.name, truth=(0.0, 1.0) if spec.dtype == "bool" else None)]
            for spec in specs
        }
        self._booleans = {spec.name for spec in specs if spec.dtype == "bool"}
        self.uses: dict[str, list[Use]] = {}

    def through(self, nodes: Sequence[NodeProto]) -> None:
        for node in nodes:
            self._enter(node)
            for inner in inner_graphs(node):
                self.through(inner.node)
            self._use(node)
            following = list(dict.fromkeys(self._after(node)))[:_MOST_TRACKS]
            for name in node.output if following else ():
                self._tracks[name] = following
            self._values.follow(node)
            self._leave(node)

    def _enter(self, node: NodeProto) -> None:
        """What the inner graph of a Loop or Scan takes of what the node takes."""
        skipped = {"Loop": 2, "Scan": 0}.get(node.op_type)
        for inner in inner_graphs(node) if skipped is not None else ():
            for value, name in zip(inner.input[skipped:], node.input[skipped:], strict=False):
                if name in self._tracks:
                    self._tracks[value.name] = self._tracks[name]

    def _leave(self, node: NodeProto) -> None:
        """What the node gives of what its inner graphs give."""
        first = 1 if node.op_type == "Loop" else 0
        for inner in inner_graphs(node):
            for value, name in zip(inner.output[first:], node.output, strict=False):
                if value.name in self._tracks:
                    self._tracks[name] = self._tracks.get(name, []) + self._tracks[value.name]

    def _at(self, node: NodeProto, place: int) -> list[_Track]:
        return self._tracks.get(node.input[place], []) if place < len(node.input) else []

    def _add(self, track: _Track, use: Use | None) -> None:
        if use is not None:
            self.uses.setdefault(track.input, []).append(use)

    def _use(self, node: NodeProto) -> None:
        values = self._values
        for place, size in index_tables(node, values):
            for track in self._at(node, place):
                self._add(track, _index(track, size))
        for place in range(len(node.input)):
            tracks = self._at(node, place)
            wanted = wanted_at(node, place, values) if tracks else None
            for track in tracks:
                for use in self._demanded(track, wanted) if wanted is not None else ():
                    self._add(track, use)
        if (limits := self._limits(node)) is not None:
            for track in self._at(node, 0):
                self._add(track, replace(track, cut=True).between(*limits))
        self._compare(node)
        self._mask(node)

    def _demanded(self, track: _Track, wanted: Wanted) -> Iterator[Use]:
        """What a node that takes the track as an operand of its own kind wants of its elements."""
        if wanted.role == "choice" and track.truth is not None:
            yield Use("choice", value=(track.truth[1],), must=False)
            return
        count = self._lengths.get(track.input, 1)
        elements = (
            [track.element]
            if track.element is not None
            else range(count if isinstance(count, int) else 1)
        )
        for element in elements:
            place = (element or 0) + (track.shift or 0)
            value = track.giving(wanted.of(place))
            if value is not None or wanted.role == "length":
                is_of_all = track.element is None and count == 1
                yield Use(
                    wanted.role,
                    within=wanted.within,
                    must=False,
                    shifted=track.is_shifted,
                    value=value,
                    element=None if is_of_all else element,
                )

    def _compare(self, node: NodeProto) -> None:
        """A value compared with positions is a length, one compared with constants one of them."""
        if node.op_type not in _COMPARED:
            return
        for track, other in self._operands(node):
            length, constant = self._values.counted_to(other), self._values.number(other)
            if self._values.counts(other):
                value = track.giving((length,)) if length is not None else None
                self._add(track, Use("length", value=value, must=False, element=track.element))
            elif constant is not None and constant.size <= _MOST_CHOICES:
                chosen = track.giving((constant.flat[0].item(),))
                if chosen is not None and node.op_type == "Equal" and track.truth is None:
                    self._add(track, Use("choice", value=chosen, must=False))

    def _mask(self, node: NodeProto) -> None:
        """A mask hides nothing: what a condition sets to a large negative number is left."""
        if node.op_type == "Where":
            hides = [is_large_negative(self._values.number(name)) for name in node.input[1:3]]
            for track in self._at(node, 0) if any(hides) and not all(hides) else ():
                if track.truth is not None:
                    self._add(track, Use("mask", value=(track.truth[0 if hides[0] else 1],)))
        elif node.op_type == "Mul":
            for track, other in self._operands(node):
                is_mask = is_large_negative(self._values.number(other)) and track.is_shifted
                if is_mask and (value := track.giving((0,))) is not None:
                    self._add(track, Use("mask", value=value))
        elif node.op_type in ("Div", "Mod"):
            for track in self._at(node, 1):
                self._add(track, Use("divisor", must=False))

    def _limits(self, node: NodeProto) -> tuple[int, int] | None:
        """Where the node cuts off its first input: beyond, all values would be one."""
        first, last = self._values.bounds(node, 1), self._values.bounds(node, 2)
        if node.op_type == "Clip" and first and last:
            return first[0], last[1]
        return (0, first[0] - 1) if node.op_type == "Mod" and first else None

    def _operands(self, node: NodeProto) -> Iterator[tuple[_Track, str]]:
        """The tracks of one operand of two, each with the name of the other."""
        for place, other in ((0, 1), (1, 0)):
            yield from ((track, node.input[other]) for track in self._at(node, place))

    def _after(self, node: NodeProto) -> Iterator[_Track]:
        """What the outputs of a node hold of the inputs of the graph."""
        if node.op_type == "Gather":
            index = self._values.number(node.input[1])
            for track in self._at(node, 0):
                yield _element(track, index)
            return
        if node.op_type == "Concat":
            yield from self._joined(node)
            return
        if node.op_type == "Slice" and (part := self._part(node)) is not None:
            yield from (_element(track, part) for track in self._at(node, 0))
            return
        for place in _MOVED_INPUTS.get(node.op_type, ())[: len(node.input)]:
            yield from self._at(node, place)
        match node.op_type:
            case "Clip" | "Relu" | "Mod" | "Max" | "Min":
                for place in range(len(node.input) if node.op_type in ("Max", "Min") else 1):
                    yield from (replace(track, cut=True) for track in self._at(node, place))
            case "Not":
                for track in self._at(node, 0):
                    if track.truth is not None:
                        yield replace(track, truth=(track.truth[1], track.truth[0]))
            case "Cast" if attributes(node).get("to") == TensorProto.BOOL:
                yield from self._at(node, 0)
                yield from _truths([t for t in self._at(node, 0) if t.truth is None], 0, 1)
            case "Cast":
                yield from map(_number_of, self._at(node, 0))
            case "And" | "Or":
                yield from (track for place in (0, 1) for track in self._at(node, place))
            case "Add" | "Sub" | "Mul" | "Div":
                yield from self._moved(node)
            case "Equal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual":
                constant = self._values.number(node.input[1])
                bounds = self._values.bounds(node, 1)
                if constant is not None and constant.size == 1 and bounds is not None:
                    # A fraction may lie beside any constant, but not what was a boolean.
                    is_whole = constant.dtype.kind in "iu"
                    tracks = [t for t in self._at(node, 0) if is_whole or t.input in self._booleans]
                    yield from _truths(tracks, *(bounds[0] + s for s in _COMPARED[node.op_type]))

    def _part(self, node: NodeProto) -> np.ndarray | None:
        """Which element of a vector a Slice takes, None for several, or for what is none."""
        shape = self._values.shape(node.input[0])
        ends = [self._values.bounds(node, place) for place in (1, 2)]
        if shape is None or len(shape) != 1 or None in ends:
            return None
        begin, end = (end[0] for end in ends if end is not None)
        return np.array(begin) if 0 <= begin == end - 1 else None

    def _joined(self, node: NodeProto) -> Iterator[_Track]:
        offset: int | None = 0
        for place in range(len(node.input)):
            for track in self._at(node, place):
                known = offset is not None and track.shift is not None
                yield replace(track, shift=track.shift + offset if known else None)  # type: ignore[operator]
            sizes = self._values.shape(node.input[place])
            length = sizes[0] if sizes is not None and len(sizes) == 1 else None
            offset = offset + length if isinstance(length, int) and offset is not None else None

    def _moved(self, node: NodeProto) -> Iterator[_Track]:
        for place, other in ((0, 1), (1, 0)):
            bounds = self._values.bounds(node, other)
            for track in self._at(node, place):
                known = bounds and _next_track(track, node.op_type, place, *bounds)
                yield known or replace(track, vague=True)


def _truths(tracks: Sequence[_Track], fails: int, holds: int) -> Iterator[_Track]:
    """The tracks of a boolean that fails and holds where theirs have these values."""
    for track in tracks:
        ends = [track.giving((value,)) for value in (fails, holds)]
        if all(end is not None and _is_number(end) for end in ends):
            yield replace(track, truth=(float(sum(ends[0])), float(sum(ends[1]))))  # type: ignore[arg-type]


def _number_of(track: _Track) -> _Track:
    """The track of 0 and 1 in place of a boolean that fails and holds; others are numbers."""
    if track.truth is None:
        return track
    fails, holds = map(Fraction, track.truth)
    scale, offset = 1 / (holds - fails), -fails / (holds - fails)
    if offset.denominator != 1:
        return replace(track, truth=None, vague=True)
    return replace(track, truth=None, scale=scale, least=int(offset), largest=int(offset))


def _element(track: _Track, index: np.ndarray | None) -> _Track:
    """The track of what a Gather takes out of another."""
    if track.element is not None or index is None or index.size != 1 or track.shift is None:
        return replace(track, shift=None)
    element = int(index.flat[0]) - track.shift
    return replace(track, element=element, shift=-element) if element >= 0 else track


def _index(track: _Track, size: Dimension) -> Use | None:
    """An index into an axis of this size; one that another size was taken from is a length."""
    if isinstance(size, int):
        return track.between(0, size - 1)
    if track.least == track.largest == -1 and track.scale == 1:
        return Use("length", value=(size,), must=False, shifted=True, element=track.element)
    if track.scale != 1:
        return None
    return Use("", 0, within=(size,), must=not track.cut, shifted=track.is_shifted)


def _next_track(track: _Track, op: str, place: int, least: int, largest: int) -> _Track | None:
    """The track after adding, taking away, multiplying or dividing by what lies between two
    bounds, or after it was taken away itself."""
    is_one = least == largest
    match op:
        case "Add":
            return replace(track, least=track.least + least, largest=track.largest + largest)
        case "Sub" if place == 0:
            return replace(track, least=track.least - largest, largest=track.largest - least)
        case "Sub":
            low, high = least - track.largest, largest - track.least
            return replace(track, scale=-track.scale, least=low, largest=high)
        case "Mul" if is_one and least >= 1:
            low, high = track.least * least, track.largest * least
            return replace(track, scale=track.scale * least, least=low, largest=high)
        case "Div" if place == 0 and is_one and least >= 1 and not track.is_shifted:
            return replace(track, scale=track.scale / least)
    return None
