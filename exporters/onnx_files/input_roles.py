"""Roles of a graph's inputs: what they index or count, so that drawn values are realistic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, floor, prod

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper
from onnx.external_data_helper import uses_external_data

from exporters.onnx_files.graph import inner_graphs
from exporters.types import TEXT, Dimension, TensorSpec

_KEPT_ELEMENTS = 4096
"""A constant up to this size may be an offset or a bound; a larger one is a table."""

_MOVED_INPUTS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(
        ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"), (0,)
    ),
    **dict.fromkeys(("Expand", "Slice", "Split", "Tile", "Pad", "Gather", "GatherND"), (0,)),
    "GatherElements": (0,),
    "Where": (1, 2),
    "Concat": range(1024),
}
"""Nodes that give the values of these inputs as they are."""

_INDICES: Mapping[str, Sequence[tuple[int, int]]] = {
    "Gather": ((1, 0),),
    "GatherElements": ((1, 0),),
    "ScatterElements": ((1, 0),),
    "GatherBlockQuantized": ((1, 0),),
    "EmbedLayerNormalization": ((0, 2), (1, 4), (8, 3)),
}
"""Nodes of which one input indexes another, by position."""

_DECIDING: Mapping[str, Mapping[int, int]] = {
    "Loop": {0: 1, 1: 1},
    "If": {0: 1},
    "Range": {0: 0, 1: 1, 2: 1},
    "Slice": {1: 0, 2: 1, 4: 1},
    "Pad": {1: 0},
    "OneHot": {1: 1},
    "Resize": {2: 1, 3: 1},
    "LSTM": {4: 1},
    "GRU": {4: 1},
    "RNN": {4: 1},
    **{op: {1: 1} for op in ("Reshape", "Expand", "Tile", "TopK", "Split", "Upsample")},
    "SplitToSequence": {1: 1},
    "ConstantOfShape": {0: 1},
}
"""Inputs that decide how much is computed, and the least with which something is."""


@dataclass(frozen=True, slots=True)
class Use:
    """Values of an input, `least` to `largest`, that suit one node.

    With `must` the node fails beyond them, else it only cuts them off. `decides` says that
    they decide how much is computed, `shifted` that an offset was added on the way.
    """

    least: int
    largest: int
    must: bool = True
    decides: bool = False
    shifted: bool = False


@dataclass(frozen=True, slots=True)
class _Track:
    """A tensor whose values are `input` x `scale` + an offset between `least` and `largest`.

    `cut` says that they have been cut off on the way.
    """

    input: str
    scale: int = 1
    least: int = 0
    largest: int = 0
    cut: bool = False

    def use(self, least: int, largest: int) -> Use | None:
        """The input's values that bring this tensor's between the two; None if none do."""
        low, high = ceil((least - self.least) / self.scale), (largest - self.largest) / self.scale
        is_shifted = bool(self.least or self.largest)
        return Use(low, floor(high), not self.cut, shifted=is_shifted) if low <= high else None


def uses_of(graph: GraphProto, inputs: Sequence[str]) -> dict[str, list[Use]]:
    """What is done with the values of each input, wherever in the graph and its inner graphs."""
    constants = _Constants(graph)
    tracks: dict[str, list[_Track]] = {name: [_Track(name)] for name in inputs}
    uses: dict[str, list[Use]] = {}

    def add_use(track: _Track, use: Use | None) -> None:
        if use is not None:
            uses.setdefault(track.input, []).append(use)

    for node in _nodes(graph):
        for place, table in _INDICES.get(node.op_type, ()):
            rows = constants.rows(node, table)
            for track in _tracks_at(node, place, tracks) if rows else ():
                add_use(track, track.use(0, rows - 1))
        if node.op_type == "OneHot" and (depth := constants.bounds(node, 1)):
            for track in _tracks_at(node, 0, tracks):
                add_use(track, track.use(0, depth[1] - 1))
        for place, value in _DECIDING.get(node.op_type, {}).items():
            for track in _tracks_at(node, place, tracks):
                use = track.use(value, value)
                add_use(track, use and replace(use, must=False, decides=True))
        for track, limits in _cuts(node, tracks, constants):
            add_use(track, track.use(*limits))
        following = list(_after(node, tracks, constants))
        for name in node.output if following else ():
            tracks[name] = following
        constants.follow(node)
    return uses


def _tracks_at(node: NodeProto, place: int, tracks: Mapping[str, list[_Track]]) -> list[_Track]:
    return tracks.get(node.input[place], []) if place < len(node.input) else []


def _after(
    node: NodeProto, tracks: Mapping[str, list[_Track]], constants: _Constants
) -> Iterator[_Track]:
    """What the outputs of a node hold of the inputs of the graph."""
    for place in _MOVED_INPUTS.get(node.op_type, ())[: len(node.input)]:
        yield from _tracks_at(node, place, tracks)
    match node.op_type:
        case "Clip" | "Relu" | "Mod":
            yield from (replace(track, cut=True) for track in _tracks_at(node, 0, tracks))
        case "Max" | "Min":
            for place in range(len(node.input)):
                yield from (replace(track, cut=True) for track in _tracks_at(node, place, tracks))
        case "Add" | "Sub" | "Mul":
            for place, other in ((0, 1), (1, 0)):
                bounds = constants.bounds(node, other)
                if bounds is not None and (node.op_type != "Sub" or place == 0):
                    next_tracks = (
                        _next_track(t, node.op_type, *bounds)
                        for t in _tracks_at(node, place, tracks)
                    )
                    yield from (track for track in next_tracks if track is not None)


def _next_track(track: _Track, op: str, least: int, largest: int) -> _Track | None:
    """The track after adding, taking away or multiplying by what lies between two bounds."""
    match op:
        case "Add":
            return replace(track, least=track.least + least, largest=track.largest + largest)
        case "Sub":
            return replace(track, least=track.least - largest, largest=track.largest - least)
    if least != largest or least < 1:
        return None
    return replace(
        track,
        scale=track.scale * least,
        least=track.least * least,
        largest=track.largest * least,
    )


def _cuts(
    node: NodeProto, tracks: Mapping[str, list[_Track]], constants: _Constants
) -> Iterator[tuple[_Track, tuple[int, int]]]:
    """Tracks that the node cuts off, and where: beyond, all values would be one."""
    limits: tuple[int, int] | None = None
    if node.op_type == "Clip":
        low, high = constants.bounds(node, 1), constants.bounds(node, 2)
        limits = (low[0], high[1]) if low and high else None
    elif node.op_type == "Mod" and (divisor := constants.bounds(node, 1)):
        limits = (0, divisor[0] - 1)
    if limits is not None:
        yield from ((replace(track, cut=True), limits) for track in _tracks_at(node, 0, tracks))


class _Constants:
    """The sizes of what a graph holds, and the values of what is small."""

    def __init__(self, graph: GraphProto) -> None:
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._values: dict[str, np.ndarray] = {}
        for value in (*graph.input, *graph.value_info):
            dimensions = value.type.tensor_type.shape.dim
            if dimensions and all(d.dim_value > 0 for d in dimensions):
                self._sizes[value.name] = tuple(d.dim_value for d in dimensions)
        for tensor in graph.initializer:
            self._hold(tensor.name, tensor)

    def follow(self, node: NodeProto) -> None:
        """Know what a node gives where it follows from constants."""
        if not node.output or not (node.input or node.op_type == "Constant"):
            return
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    self._hold(node.output[0], attribute.t)
                elif attribute.name in ("value_int", "value_ints"):
                    sizes = attribute.ints if attribute.ints else [attribute.i]
                    self._values[node.output[0]] = np.array(sizes)
        elif node.op_type in ("Identity", "Cast", "DequantizeLinear", "Unsqueeze", "Squeeze"):
            if node.input[0] in self._values:
                self._values[node.output[0]] = self._values[node.input[0]]
            if node.input[0] in self._sizes and node.op_type[-7:] != "squeeze":
                self._sizes[node.output[0]] = self._sizes[node.input[0]]

    def rows(self, node: NodeProto, place: int) -> int:
        """How many entries the table at this input has along the node's axis; 0 if not known."""
        sizes = self._sizes.get(node.input[place], ()) if place < len(node.input) else ()
        axes = [a.i for a in node.attribute if a.name in ("axis", "gather_axis")]
        axis = axes[0] if axes else 0
        return sizes[axis] if -len(sizes) <= axis < len(sizes) else 0

    def bounds(self, node: NodeProto, place: int) -> tuple[int, int] | None:
        """The least and the largest value of a small integer constant."""
        value = self._values.get(node.input[place]) if place < len(node.input) else None
        if value is None or not value.size or value.dtype.kind not in "iu":
            return None
        return int(value.min()), int(value.max())

    def _hold(self, name: str, tensor: TensorProto) -> None:
        self._sizes[name] = tuple(tensor.dims)
        if prod(tensor.dims) <= _KEPT_ELEMENTS and not uses_external_data(tensor):
            # A damaged constant is told when the file is checked, and bounds nothing here.
            with suppress(ValueError, TypeError, KeyError):
                self._values[name] = numpy_helper.to_array(tensor)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes in their order, those of inner graphs after the node that holds them."""
    for node in graph.node:
        yield node
        for inner in inner_graphs(node):
            yield from _nodes(inner)


_PADDING_NAME = re.compile(r"key_padding", re.IGNORECASE)
_MASK = re.compile(r"(^|[_./])\w*mask(_\d+)?$", re.IGNORECASE)
_POSITION = re.compile(r"(^|[_./])(pos(ition)?_ids?|positions?|cache_position)$", re.IGNORECASE)
_SEGMENT = re.compile(r"(token_type|segment)(_ids?|s)?$", re.IGNORECASE)


def meant(specs: Sequence[TensorSpec], graph: GraphProto) -> tuple[TensorSpec, ...]:
    """The inputs with the values that they are drawn from.

    Masks are 1, where a mask of what is padded is 0; positions count up; segments are 0; what
    indexes tables is drawn from the rows that all of them have; what decides how much is
    computed is the least that computes anything, and is `guessed`; texts are those that the graph
    knows. Lengths and positions follow the sizes of the caches that they count.
    """
    uses = uses_of(graph, [spec.name for spec in specs if spec.dtype != TEXT])
    roles = (_with_role(spec, uses.get(spec.name, ()), graph) for spec in specs)
    return in_step(tuple(roles), graph)


def _with_role(spec: TensorSpec, uses: Sequence[Use], graph: GraphProto) -> TensorSpec:
    if spec.dtype == TEXT:
        words = words_of(graph, spec.owner or spec.name)
        return replace(spec, words=words)
    if spec.owner and spec.count_up:
        return spec
    kind = np.dtype(spec.dtype).kind
    guesses = [use for use in uses if use.decides]
    if kind == "f":
        if guesses:
            return _constant(spec, guesses[0].least, guessed=True)
        return _constant(spec, 1) if _MASK.search(spec.name) else spec
    if _PADDING_NAME.search(spec.name):
        return _constant(spec, 0)
    if _MASK.search(spec.name):
        return _constant(spec, 1)
    spec = replace(spec, allowed=_common([use for use in uses if use.must]))
    if kind == "b":
        return _constant(spec, guesses[0].least, guessed=True) if guesses else spec
    if _POSITION.search(spec.name):
        return replace(spec, count_up=True, high=spec.allowed and float(spec.allowed[1] + 1))
    if _SEGMENT.search(spec.name):
        return _constant(spec, spec.allowed[0] if spec.allowed else 0)
    if guesses:
        return _constant(spec, guesses[0].least, guessed=True)
    within = _common(uses)
    return spec if within is None else replace(spec, low=float(within[0]), high=within[1] + 1.0)


def _constant(spec: TensorSpec, value: int, guessed: bool = False) -> TensorSpec:
    high = value if np.dtype(spec.dtype).kind == "f" else value + 1
    return replace(spec, low=float(value), high=float(high), guessed=guessed)


def _common(uses: Sequence[Use]) -> tuple[int, int] | None:
    """The values that suit all uses; those of a shifted input give way where nothing does.

    A graph that makes negative indices positive reads a table both with and without the shift.
    """
    common: tuple[int, int] | None = None
    for use in sorted(uses, key=lambda use: use.shifted):
        least, largest = use.least, use.largest
        if common is not None:
            least, largest = max(least, common[0]), min(largest, common[1])
        if least <= largest:
            common = least, largest
    return common


_CACHE = re.compile(r"past|cache", re.IGNORECASE)
_NO_CACHE = re.compile(r"position|mask|length", re.IGNORECASE)
SLIDING_NAME = re.compile(r"slid|window", re.IGNORECASE)
"""An axis of a cache that keeps the last tokens alone, and does not count those before."""
_TOKENS = re.compile(r"input_ids|inputs_embeds|^(q|query|hidden_states)$", re.IGNORECASE)
_LENGTHS: Mapping[str, Mapping[int, int]] = {
    "GroupQueryAttention": {5: -1, 6: 0},
    "SparseAttention": {7: 0, 8: 0},
}
"""By operator, inputs that hold the total length, and what is added to it."""


def in_step(specs: Sequence[TensorSpec], graph: GraphProto) -> tuple[TensorSpec, ...]:
    """The inputs, those that count a cache's entries in step with its size."""
    past_length = _past_length(specs)
    if past_length is None:
        return tuple(specs)
    lengths = _lengths(graph)
    current = _current(specs)
    return tuple(_in_step(spec, past_length, current, lengths.get(spec.name)) for spec in specs)


def _in_step(
    spec: TensorSpec, past_length: Dimension, current: Dimension | None, correction: int | None
) -> TensorSpec:
    if spec.count_up and not spec.owner and np.dtype(spec.dtype).kind in "iu":
        return replace(spec, offset=(past_length,))
    if correction is not None and current is not None:
        offset = (past_length, current, correction) if correction else (past_length, current)
        return replace(spec, low=0.0, high=1.0, offset=offset, guessed=False)
    return spec


def _past_length(specs: Sequence[TensorSpec]) -> Dimension | None:
    """The size of the cache: the third of the four dimensions of its keys and values."""
    sizes = [
        spec.shape[2]
        for spec in specs
        if _CACHE.search(spec.name)
        and not _NO_CACHE.search(spec.name)
        and len(spec.shape) == 4
        and np.dtype(spec.dtype).kind == "f"
    ]
    return min(sizes, key=lambda size: bool(SLIDING_NAME.search(str(size))), default=None)


def _current(specs: Sequence[TensorSpec]) -> Dimension | None:
    """How many tokens this call brings."""
    tokens = (s for s in specs if _TOKENS.search(s.name) and len(s.shape) > 1)
    return next((spec.shape[1] for spec in tokens), None)


def _lengths(graph: GraphProto) -> dict[str, int]:
    """Inputs of the graph that attention operators take as lengths, with what is added to them."""
    return {
        node.input[place]: correction
        for node in graph.node
        for place, correction in _LENGTHS.get(node.op_type, {}).items()
        if place < len(node.input) and node.input[place]
    }


_TABLES = (
    "keys_strings",
    "keys_tensor",
    "cats_strings",
    "pool_strings",
    "string_vocabulary",
    "classes_strings",
)
"""Attributes that hold the texts which an encoder knows."""
_PASSES_ON = frozenset(
    {
        "ArrayFeatureExtractor",
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "Identity",
        "Reshape",
        "Slice",
        "Split",
        "Squeeze",
        "StringNormalizer",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
_NUMBERS = ("0", "1", "2")
_MOST = 1000


def words_of(graph: GraphProto, name: str) -> tuple[str, ...]:
    """The texts that encoders know which read this input, in order; () where none does.

    Texts that become numbers are numbers.
    """
    constants = {t.name: t for t in graph.initializer if t.data_type == TensorProto.STRING}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.t.data_type == TensorProto.STRING:
                constants[node.output[0]] = attribute.t
    derived_names, words = {name}, dict[str, None]()
    for node in graph.node:
        if derived_names.isdisjoint(node.input):
            continue
        words |= dict.fromkeys(_known(node, constants))
        if node.op_type in _PASSES_ON:
            derived_names.update(node.output)
    return tuple(words)[:_MOST]


def _known(node: NodeProto, constants: dict[str, TensorProto]) -> Iterator[str]:
    if node.op_type == "Cast":
        yield from _NUMBERS
    elif node.op_type in ("Equal", "Where"):
        for name in node.input:
            if name in constants:
                yield from _texts(constants[name])
    for attribute in node.attribute:
        if attribute.name not in _TABLES:
            continue
        if attribute.type == AttributeProto.STRINGS:
            yield from (text.decode("utf-8", "replace") for text in attribute.strings)
        elif attribute.t.data_type == TensorProto.STRING:
            yield from _texts(attribute.t)


def _texts(tensor: TensorProto) -> Iterator[str]:
    for text in numpy_helper.to_array(tensor).ravel():
        yield text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
