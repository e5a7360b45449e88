"""Roles of a graph's inputs: which are caches, what others index, count or decide, so that drawn
values are those of a user's program.

What the graph does with a value comes first (`value_flow`), then its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx.inliner
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from exporters.inputs import SCORE, UNKNOWN
from exporters.onnx_files.graph import (
    attributes,
    constant_tensors,
    graphs_of,
    inner_graphs,
    nodes_of,
)
from exporters.onnx_files.node_demands import BEAMS, BOXES, IMAGE_SIDE, IOU, LONG, SEQUENCE
from exporters.onnx_files.value_flow import Use, uses_of
from exporters.types import TEXT, Dimension, TensorSpec

_MICROSOFT = "com.microsoft"
_OPERATORS: Mapping[tuple[str, str], tuple[Sequence[int], int]] = {
    (_MICROSOFT, "GroupQueryAttention"): ((3, 4), 2),
    (_MICROSOFT, "SparseAttention"): ((3, 4), 2),
    (_MICROSOFT, "MultiHeadAttention"): ((6, 7), 2),
    (_MICROSOFT, "DecoderMaskedMultiHeadAttention"): ((5, 6), 2),
    (_MICROSOFT, "DecoderMaskedSelfAttention"): ((4,), 3),
    (_MICROSOFT, "Attention"): ((4,), 3),
    ("", "Attention"): ((4, 5), 2),
}
"""Operators of which these inputs are caches, and the axis along which they are."""


@dataclass(frozen=True, slots=True)
class Cache:
    """The input holds what is past along `axis`; `new` holds what a call adds, along `new_axis`."""

    axis: int
    new: str
    new_axis: int


def cache_inputs(graph: GraphProto) -> dict[str, Cache]:
    """The caches by the names of the inputs: those that attention operators take as such, and those
    to which the graph joins what it computes, to give all of it back as an output."""
    # For each tensor that is an input, or a part of one: its name, and where its dimensions stand.
    origins = {
        value.name: (value.name, tuple(range(len(value.type.tensor_type.shape.dim))))
        for value in graph.input
        if value.type.tensor_type.HasField("shape")
    }
    constants = constant_tensors(graphs_of(graph))
    scalars = {name for name, tensor in constants.items() if not tensor.dims}
    caches: dict[str, Cache] = {}
    results = _results(graph)
    for node in nodes_of(graph):
        places, axis = _OPERATORS.get((node.domain, node.op_type), ((), 0))
        new = node.input[0] if node.input else "", -2
        if node.op_type == "Concat" and node.output[0] in results:
            axis = attributes(node).get("axis", 0)
            others = [name for name in node.input[1:] if name not in origins]
            places, new = ((0,), (others[0], axis)) if others else ((), new)
        for name in (node.input[place] for place in places if place < len(node.input)):
            if name in origins and -len(origins[name][1]) <= axis < len(origins[name][1]):
                source, source_places = origins[name]
                caches.setdefault(source, Cache(source_places[axis], *new))
        if node.input and node.input[0] in origins:
            source, source_places = origins[node.input[0]]
            moved = _moved(node, source_places, scalars)
            origins.update(dict.fromkeys(node.output, (source, moved)) if moved else {})
    return caches


def _moved(node: NodeProto, places: tuple[int, ...], scalars: Collection[str]) -> tuple[int, ...]:
    """Where dimensions stand in what the node gives of its first input; () if it gives another."""
    match node.op_type:
        case "Identity" | "Cast" | "Slice" | "Split":
            return places
        case "Transpose":
            perm = attributes(node).get("perm") or range(len(places))[::-1]
            is_whole = sorted(perm) == list(range(len(places)))
            return tuple(places[place] for place in perm) if is_whole else ()
        case "Gather" if places and node.input[-1] in scalars:  # one of several caches
            axis = attributes(node).get("axis", 0) % len(places)
            return (*places[:axis], *places[axis + 1 :])
    return ()


def _results(graph: GraphProto) -> Collection[str]:
    """The tensors that the graph gives as outputs, as they are or beside others."""
    results = {value.name for value in graph.output}
    for node in reversed(list(nodes_of(graph))):
        for place, name in enumerate(node.output):
            if name not in results:
                continue
            if node.op_type in ("Identity", "Cast", "Transpose", "Unsqueeze", "Concat"):
                results.update(node.input)
            elif node.op_type == "If":
                branches = (inner.output[place : place + 1] for inner in inner_graphs(node))
                results.update(value.name for values in branches for value in values)
    return results


_TABLES = (
    *("keys_strings", "keys_tensor", "cats_strings", "pool_strings"),
    *("string_vocabulary", "classes_strings"),
)
"""Attributes that hold the texts which an encoder knows."""
_PASSES_ON = frozenset(
    (
        *("ArrayFeatureExtractor", "Concat", "Expand", "Flatten", "Gather", "Identity"),
        *("Reshape", "Slice", "Split", "Squeeze", "StringNormalizer", "Transpose", "Unsqueeze"),
        "Where",
    )
)
_DIGITS = ("0", "1", "2")
_MOST_WORDS = 1000


def words_of(graph: GraphProto, name: str) -> tuple[str, ...]:
    """The texts that encoders know which read this input, in order; () where none does.

    Texts that become numbers are numbers.
    """
    constants = constant_tensors([graph])
    derived_names, words = {name}, dict[str, None]()
    for node in graph.node:
        if derived_names.isdisjoint(node.input):
            continue
        words |= dict.fromkeys(_known(node, constants))
        if node.op_type in _PASSES_ON:
            derived_names.update(node.output)
    return tuple(words)[:_MOST_WORDS]


def _known(node: NodeProto, constants: dict[str, TensorProto]) -> Iterator[str]:
    if node.op_type == "Cast":
        return iter(_DIGITS)
    if node.op_type in ("Equal", "Where"):
        tables = [constants[name].string_data for name in node.input if name in constants]
    else:
        known = [a for a in node.attribute if a.name in _TABLES]
        tables = [texts for a in known for texts in (a.strings, a.t.string_data)]
    return (text.decode("utf-8", "replace") for texts in tables for text in texts)


ASSUMED = frozenset({"size", "scale", "length", "limit", "threshold", "choice"})
"""What a value may be that decides how much is computed: the row says that it was assumed."""
_FIRST = ("mask", "length", "offset", "size", "limit", "threshold", "scale", "choice", "start")
"""Of several roles the first counts."""
_FAINT = frozenset({"choice", "start"})
"""Roles that a name comes before, and that whole tensors of data do not have."""
_WORDS = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_MOST_ELEMENTS = 16
"""A vector up to this length may hold sizes; a longer one is data."""


def meant(specs: Sequence[TensorSpec], model: ModelProto) -> tuple[TensorSpec, ...]:
    """The inputs with the values that they are drawn from.

    Masks hide nothing; positions count up; segments are 0; what indexes a table or an axis is drawn
    from all that it has; what decides how much is computed is what is usual, and is `assumed`;
    texts are those that the graph knows. Lengths and positions follow the sizes of the caches that
    they count.
    """
    uses = _uses(specs, model)
    roles = (_with_role(spec, uses.get(spec.name, ()), specs, model.graph) for spec in specs)
    return in_step(tuple(roles), model.graph)


def addressed_axes(specs: Sequence[TensorSpec], model: ModelProto) -> set[str]:
    """The axes whose entries an input names by their index, as the edges of a graph network."""
    indices = (use for uses in _uses(specs, model).values() for use in uses if not use.role)
    return {size for use in indices for size in use.within if isinstance(size, str)}


def _uses(specs: Sequence[TensorSpec], model: ModelProto) -> Mapping[str, Sequence[Use]]:
    if not any(map(_may_mean_something, specs)):
        return {}
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return uses_of(model, [spec for spec in specs if spec.dtype != TEXT and not spec.owner])


def _may_mean_something(spec: TensorSpec) -> bool:
    """Whether values of it may be more than samples of a signal."""
    is_float = spec.dtype != TEXT and np.dtype(spec.dtype).kind == "f"
    return not is_float or len(spec.shape) < 2 or spec.shape[-1] == 2


def _with_role(
    spec: TensorSpec, uses: Sequence[Use], specs: Sequence[TensorSpec], graph: GraphProto
) -> TensorSpec:
    if spec.dtype == TEXT:
        return replace(spec, words=words_of(graph, spec.owner or spec.name))
    if spec.owner and spec.count_up:
        return spec
    dtype, words = np.dtype(spec.dtype), _words(spec.name)
    indices = [use for use in uses if not use.role]
    if dtype.kind in "iu":
        within = tuple(dict.fromkeys(size for use in indices for size in use.within))
        spec = replace(spec, allowed=_common([u for u in indices if u.must]), within=within)
    strong = [use for use in uses if use.role not in _FAINT]
    is_single = not spec.shape or spec.shape == (1,)
    if dtype.kind in "iu" and (_is_position(words) or _counts(spec, strong)):
        return replace(spec, count_up=True, high=spec.allowed and float(spec.allowed[1] + 1))
    usual = (
        _by_use(spec, strong, specs)
        or _by_name(spec, words, specs)
        or _by_use(spec, uses if is_single or len(spec.shape) == 1 else (), specs)
    )
    if usual is not None:
        return usual
    if dtype.kind in "bf":
        return spec
    if {"segment", "segments"} & {*words} or words[:2] == ["token", "type"]:
        return _filled(spec, (spec.allowed[0] if spec.allowed else 0,))
    bounds = _common(indices)
    if bounds is not None:
        return replace(spec, low=float(bounds[0]), high=bounds[1] + 1.0)
    if any(use.role == "divisor" for use in uses):
        return replace(spec, low=1.0, high=3.0)
    if dtype == np.uint8 and len(spec.shape) > 2:
        return replace(spec, low=0.0, high=256.0)
    return replace(spec, assumed=UNKNOWN) if is_single else spec


def _counts(spec: TensorSpec, uses: Sequence[Use]) -> bool:
    """Whether its elements are positions themselves: it is as long as those that it meets."""
    lengths = [use.value for use in uses if use.role == "length" and use.value]
    return bool(spec.shape) and spec.shape[-1] != 1 and (spec.shape[-1],) in lengths


def _by_use(
    spec: TensorSpec, uses: Sequence[Use], specs: Sequence[TensorSpec]
) -> TensorSpec | None:
    """With what the graph's nodes want of it; None where none wants anything."""
    if len(spec.shape) > 2 and not any(use.role == "mask" for use in uses):
        return None
    begins, ends = ({u.element for u in uses if u.role == role} for role in ("offset", "size"))
    if begins & ends and spec.shape:
        return replace(spec, count_up=True)  # each part begins where the one before it ends
    values = {role: [u for u in uses if u.role == role] for role in _FIRST}
    role = next((role for role in _FIRST if values[role]), None)
    if role is None or (role == "length" and len(spec.shape) > 1 and spec.shape[-1] != 1):
        return None
    found = values[role]
    if spec.dtype == "bool" and role not in ("mask", "choice"):
        return None
    within = tuple(dict.fromkeys(size for use in found for size in use.within)) or spec.within
    spec = replace(spec, within=within)
    # Of several numbers that suit one element the largest: one beside it may be a batch of one.
    found = sorted(found, key=lambda use: -_number(use.value))
    elements = {use.element: use.value for use in reversed(found) if use.value is not None}
    if not elements:  # a length that was computed with on the way
        return _filled(spec, _full(spec, specs), role=role)
    for other in (u for role in _FIRST for u in values[role]):
        if other.element is not None and other.value is not None:
            elements.setdefault(other.element, other.value)
    if None in elements or not spec.shape:
        return _filled(spec, next(iter(elements.values())), role=role)
    count = spec.shape[0] if len(spec.shape) == 1 else 1
    number = count if isinstance(count, int) else 1
    if number > _MOST_ELEMENTS:
        return None
    usual = next(iter(elements.values()))
    return _filled(spec, *(elements.get(place, usual) for place in range(number)), role=role)


def _number(value: Sequence[Dimension | float] | None) -> float:
    """What sizes and numbers come to, as far as that is known; a named size counts as usual."""
    return sum(SEQUENCE if isinstance(term, str) else term for term in value or ())


def _filled(spec: TensorSpec, *values: tuple[Dimension | float, ...], role: str = "") -> TensorSpec:
    """All of it has this value, or its elements in turn have these."""
    if len(set(values)) == 1:
        values = values[:1]
    return replace(spec, fill=values, assumed=role if role in ASSUMED else "")


def _words(name: str) -> list[str]:
    """`x_lengths` and `xLengths` have the words x and lengths."""
    return [word.lower() for word in _WORDS.split(name)]


def _is_position(words: Sequence[str]) -> bool:
    is_named = {"pos", "position", "positions"} & {*words[-2:]}
    return bool(is_named) and words[-1] in {"pos", "position", "positions", "id", "ids"}


_LENGTH_WORDS = frozenset({"len", "lens", "length", "lengths", "seqlen", "seqlens", "last"})
_SIZE_WORDS = frozenset({"size", "sizes", "shape", "height", "width", "resolution"})
_NUMBERS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("iou", "nms threshold"), ("threshold", IOU)),
    **dict.fromkeys(("threshold", "thresh", "conf", "confidence"), ("threshold", SCORE)),
    "temperature": ("", 1.0),
    "top p": ("", 0.9),
    "penalty": ("", 1.0),
    **{"guidance": ("", 7.5), "noise": ("", 0.667)},
    **dict.fromkeys(("speed", "scale"), ("", 1.0)),
    **dict.fromkeys(("ratio", "prob", "probability"), ("", 0.5)),
}
_COUNTS: Mapping[str, tuple[str, float]] = {
    **{"min length": ("limit", 1), "beams": ("limit", BEAMS), "return sequences": ("limit", 1)},
    "top k": ("limit", 50),
    **dict.fromkeys(("topk", "max boxes", "max detections", "max output"), ("limit", BOXES)),
    **dict.fromkeys(("sample rate", "sampling rate", "sr"), ("", 16_000)),
}
"""Usual roles and values of single numbers and integers, by words of their names."""


def _by_name(
    spec: TensorSpec, words: Sequence[str], specs: Sequence[TensorSpec]
) -> TensorSpec | None:
    """With the value that its name asks for; None where it asks for none."""
    kind, named = np.dtype(spec.dtype).kind, frozenset(words)
    if words[-1] == "mask" or (words[-1].isdecimal() and "mask" in words[-2:]):
        hides = {"key", "padding"} <= named
        return _filled(spec, (0 if hides and kind != "f" else 1,))
    if kind == "b" or _is_position(words):
        return None
    is_single = not spec.shape or spec.shape == (1,)
    if kind in "iu" and len(spec.shape) < 2 and _LENGTH_WORDS & named:
        if {"max", "min"} & named:
            least = "min" in named
            return _filled(spec, (1,) if least else _longest(specs), role="limit")
        if spec.allowed or spec.within:  # it is read as an index
            last = (spec.allowed[1],) if spec.allowed else (spec.within[0], -1)
            return _filled(spec, last, role="length")
        return _filled(spec, _full(spec, specs), role="length")
    if kind == "f" and len(spec.shape) == 1 and words[-1] in ("scale", "scales"):
        return _filled(spec, (1.0,))
    if is_single:
        for known, (role, value) in (_NUMBERS if kind == "f" else _COUNTS).items():
            if named.issuperset(known.split()):
                return _filled(spec, (value,), role=role)
    if is_single and words[-1] in _SIZE_WORDS and {"cache", "past"} & named:
        caches = [s for s in specs if "cache" in s.name.lower() and len(s.shape) > 2]
        kept = [size for other in caches for size in other.shape[1:] if isinstance(size, str)]
        return _filled(spec, (kept[0] if kept else SEQUENCE,), role="size")
    is_pair = bool(spec.shape) and spec.shape[-1] == 2 and len(spec.shape) < 3
    if (is_single or is_pair) and words[-1] in _SIZE_WORDS and "batch" not in named:
        return _filled(spec, (_side(specs),), role="size")
    return None


def _full(spec: TensorSpec, specs: Sequence[TensorSpec]) -> tuple[Dimension, ...]:
    """The axis that a length counts: of the input that it is named after, else of the first one
    with more than a batch."""
    stem = [word for word in _words(spec.name) if word not in _LENGTH_WORDS]
    others = [other for other in specs if len(other.shape) > 1 and other.dtype != TEXT]
    names = {" ".join(stem), " ".join(stem) + "s"} if stem else {}
    namesakes = [o for o in others if " ".join(_words(o.name)) in names]
    for other in (*namesakes, *others):
        open_sizes = [d for d in other.shape[1:] if isinstance(d, str) and d not in spec.shape]
        if open_sizes:
            return (open_sizes[-1] if len(other.shape) == 3 else open_sizes[0],)
    for other in (*namesakes, *others):
        return (other.shape[1],)
    return (SEQUENCE,)


def _longest(specs: Sequence[TensorSpec]) -> tuple[Dimension, ...]:
    """A prompt and what a generation adds to it."""
    current = _current(specs)
    return (LONG,) if current is None else (current, LONG)


def _side(specs: Sequence[TensorSpec]) -> Dimension:
    """The side of the image among the inputs, else the usual one."""
    for spec in specs:
        if len(spec.shape) == 4 and spec.shape[1] in (1, 3, 4):
            return spec.shape[2]
        if len(spec.shape) == 4 and spec.shape[3] in (1, 3, 4):
            return spec.shape[1]
    return IMAGE_SIDE


def _common(uses: Sequence[Use]) -> tuple[int, int] | None:
    """The values that suit all uses; those of a shifted input give way where nothing does.

    A graph that makes negative indices positive reads a table both with and without the shift.
    """
    common: tuple[int, int] | None = None
    for use in sorted(uses, key=lambda use: use.shifted):
        if use.least is None or use.largest is None:
            continue
        least, largest = use.least, use.largest
        if common is not None:
            least, largest = max(least, common[0]), min(largest, common[1])
        if least <= largest:
            common = least, largest
    return common


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
    past = past_length(specs, graph)
    if past is None:
        return tuple(specs)
    lengths = {
        node.input[place]: correction
        for node in graph.node
        for place, correction in _LENGTHS.get(node.op_type, {}).items()
        if place < len(node.input) and node.input[place]
    }
    current, found = _current(specs), list[TensorSpec]()
    for spec in specs:
        if spec.count_up and not spec.owner and np.dtype(spec.dtype).kind in "iu":
            spec = replace(spec, offset=(past,))  # noqa: PLW2901
        elif spec.name in lengths and current is not None:
            correction = (lengths[spec.name],) if lengths[spec.name] else ()
            spec = replace(spec, fill=((past, current, *correction),), assumed="")  # noqa: PLW2901
        found.append(spec)
    return tuple(found)


def past_length(specs: Sequence[TensorSpec], graph: GraphProto) -> Dimension | None:
    """The size of the caches along which they grow."""
    caches = cache_inputs(graph)
    sizes = [spec.shape[caches[spec.name].axis] for spec in specs if spec.name in caches]
    return min(sizes, key=lambda size: bool(SLIDING_NAME.search(str(size))), default=None)


def _current(specs: Sequence[TensorSpec]) -> Dimension | None:
    """How many tokens this call brings."""
    tokens = (s for s in specs if _TOKENS.search(s.name) and len(s.shape) > 1)
    return next((spec.shape[1] for spec in tokens), None)
