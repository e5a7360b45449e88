"""Sizes for the open axes of a user's graph that nobody set: what the graph implies, else what is
usual for what an axis counts, changed where they do not fit together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto

from exporters.messages import Outline, with_sums
from exporters.onnx_files.implied import (
    Dims,
    dims_of,
    equal_axes,
    imposed_sizes,
    sampled_axes,
    scanned_axes,
)
from exporters.onnx_files.input_roles import SLIDING_NAME, addressed_axes, cache_inputs
from exporters.onnx_files.model_io import (
    batch_of,
    is_unnamed,
    name_open_dimensions,
    open_axes,
    sequence_of,
)
from exporters.onnx_files.node_demands import IMAGE_SIDE, SEQUENCE
from exporters.onnx_files.trial import Trial
from exporters.types import TEXT, TensorSpec

BATCH, ADDRESSED = 1, 16
WAVEFORM, CHUNK, POINTS = 16_000, 512, 2
"""A second of speech, a chunk of a stream of it, and the points that somebody sets in a picture."""
PAST = SEQUENCE - 1
"""With the next token the usual sequence is complete."""

_BATCH_NAME = re.compile(r"^(n|b|bs|batch.*|.*[_.]batch|.*batch_?size)$", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SEQUENCE_WORD = re.compile(
    r"(num|n|max|min|src|tgt|enc|dec|kv|q|sub|key)?"
    r"(seq|sequence|len|length|time|token|frame|step|past|context|word|text|audio|sample)+s?"
)
_SIDE_WORD = re.compile(r"(img|image)?(height|width|h|w|side|resolution)")
_TOTAL_NAME = re.compile(r"total", re.IGNORECASE)
_PAST_NAME = re.compile(r"past|cache", re.IGNORECASE)


def sums(
    axes: Sequence[str], sequence: str, pasts: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Axes that are sums: each with its addends, which are other axes or numbers.

    A name says so itself (`past + 1`), or is the total of a past and of the `sequence`; `pasts`
    are those that the graph shows.
    """
    totals: dict[str, tuple[str, ...]] = {}
    for axis in axes:
        addends = tuple(term.strip() for term in axis.split("+"))
        if len(addends) > 1 and all(term in axes or term.isdecimal() for term in addends):
            totals[axis] = addends
    past_axes = [axis for axis in axes if axis not in totals and axis in pasts] or [
        name for name in axes if _PAST_NAME.search(name) and name not in totals
    ]
    total_axis = min(past_axes, key=_is_secondary_cache, default="")
    for axis in axes:
        if axis in totals or not _TOTAL_NAME.search(axis) or not total_axis:
            continue
        rest = _TOTAL_NAME.sub("", axis).strip("_")
        current = rest if rest in axes else sequence
        if current and current not in (axis, total_axis):
            totals[axis] = (total_axis, current)
    return totals


def _is_secondary_cache(axis: str) -> tuple[bool, bool]:
    """Whether the axis is that of a sliding window, or does not count what is past."""
    return bool(SLIDING_NAME.search(axis)), "past" not in axis.lower()


def assumed_sizes(inputs: Sequence[TensorSpec], model: ModelProto, path: Path | None) -> Outline:
    """The outline with a size for each axis that has one; `path` is the file if it may be run.

    Batches without a name are one batch: all but the first are sums of the first alone. What has
    caches takes one token after those that are past.
    """
    axes, leading = open_axes(inputs), batch_of(inputs)
    batch = leading if isinstance(leading, str) else ""
    sequence = sequence_of(axes) or ""
    name_open_dimensions(model, inputs)
    dims = dims_of(model)
    past, tokens = _decoding(inputs, model.graph, dims, sequence)
    totals = sums(axes, sequence or next(iter(tokens), ""), past)
    free = [axis for axis in axes if axis not in totals]
    named = {axis: size for axis in free if (size := _by_name(axis, inputs, sequence)) is not None}
    waves = {a: CHUNK if chunked else WAVEFORM for a, chunked in sampled_axes(model.graph)}
    named |= {axis: size for axis, size in waves.items() if axis in free}
    named |= {**dict.fromkeys(past, PAST), **dict.fromkeys(tokens, 1)}
    placed = {axis: _by_places(axis, inputs, axis == batch) for axis in free if axis not in named}
    counted = {
        axis: max(ADDRESSED, placed[axis] or 0)
        for axis in addressed_axes(inputs, model)
        if axis in placed
    }
    for axis, is_scanned in scanned_axes(model.graph, dims):
        if axis in placed:
            counted[axis] = SEQUENCE if is_scanned else BATCH
    placed |= counted
    usual = {axis: size for axis, size in {**placed, **named}.items() if size is not None}
    imposed = imposed_sizes(model, dims, {axis for axis in free if usual.get(axis) == BATCH})
    known = {**usual, **imposed}
    vague = {axis for axis in placed if axis not in counted and axis not in imposed}
    known |= _equalised(known, vague, list(equal_axes(model, dims)))
    totals |= _one_batch(inputs, known, imposed)
    free = [axis for axis in free if axis not in totals]
    sizes = {axis: known[axis] for axis in free if axis in known}
    if len(sizes) == len(free):
        sizes = Trial(model, path, inputs, totals).fitting(
            sizes, [axis for axis in free if axis not in imposed]
        )
    return Outline(
        tuple(inputs),
        axes,
        batch,
        sequence,
        with_sums(sizes, totals),
        totals,
        past=min(past, key=_is_secondary_cache, default="") if tokens else "",
        prefill=dict.fromkeys(tokens if past else (), SEQUENCE),
    )


def _decoding(
    inputs: Sequence[TensorSpec], graph: GraphProto, dims: Mapping[str, Dims], sequence: str
) -> tuple[list[str], list[str]]:
    """The axes of what is past in caches, and of the tokens that a call brings."""
    caches = cache_inputs(graph)
    past = dict.fromkeys(s.shape[caches[s.name].axis] for s in inputs if s.name in caches)
    pasts = [axis for axis in past if isinstance(axis, str)]
    new = [(dims[c.new], c.new_axis) for c in caches.values() if c.new in dims]
    tokens = {shape[axis] for shape, axis in new if -len(shape) <= axis < len(shape)}
    others = [spec.shape for spec in inputs if spec.name not in caches]
    found = [axis for axis in open_axes(inputs) if axis in tokens and axis not in pasts]
    if caches and not found and not any(isinstance(size, int) for size in tokens):
        second = (shape[1] for shape in others if len(shape) > 1)
        found = [d for d in (sequence, *second) if isinstance(d, str) and d and d not in past][:1]
    return pasts, found


def _equalised(
    sizes: Mapping[str, int], vague: Collection[str], pairs: Sequence[tuple[str, str]]
) -> dict[str, int]:
    """Sizes of `vague` axes that are equal to better known ones, or to larger ones."""
    equal = dict(sizes)
    for _ in range(2):  # an axis may be equal to one that is equal to another
        for pair in pairs:
            axis, other = pair if pair[0] in vague else pair[::-1]
            if axis not in vague or other not in equal:
                continue
            larger = max(equal[other], equal.get(axis, 0))
            equal[axis] = larger if other in vague else equal[other]
            equal[other] = equal[axis]
    return {axis: size for axis, size in equal.items() if axis in vague}


def _one_batch(
    inputs: Sequence[TensorSpec], sizes: dict[str, int], imposed: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """The batches that have no name, each the same as the first, which gets a size imposed on one.

    None where different sizes are imposed on them.
    """
    axes = dict.fromkeys(str(spec.shape[0]) for spec in inputs if spec.shape)
    unnamed = [axis for axis in axes if is_unnamed(axis, inputs)]
    batches = [axis for axis in unnamed if axis in imposed or sizes.get(axis) == BATCH]
    common = {imposed[axis] for axis in batches if axis in imposed}
    if not batches or len(common) > 1:
        return {}
    sizes[batches[0]] = common.pop() if common else BATCH
    return dict.fromkeys(batches[1:], (batches[0],))


def _by_name(axis: str, inputs: Sequence[TensorSpec], sequence: str) -> int | None:
    """The usual size of what an axis of such a name counts."""
    if is_unnamed(axis, inputs):
        return None
    words = [word.lower() for word in _WORD.findall(axis)]
    places = [spec.shape for spec in inputs if axis in spec.shape]
    if {"point", "points"} & {*words} and any(shape[-1] == 2 for shape in places):
        return POINTS
    if all(len(shape) == 1 for shape in places) and any(len(s.shape) > 2 for s in inputs):
        return BATCH  # a number for each row, such as a step in time or a length
    if _BATCH_NAME.search(axis):
        return BATCH
    if axis == sequence or axis.lower() in "tls" or any(map(_SEQUENCE_WORD.fullmatch, words)):
        return SEQUENCE
    return IMAGE_SIDE if any(map(_SIDE_WORD.fullmatch, words)) else None


def _by_places(axis: str, inputs: Sequence[TensorSpec], is_batch: bool) -> int | None:
    """The usual size of an axis at its places in the inputs."""
    if all(len(spec.shape) == 1 for spec in inputs if axis in spec.shape) and is_unnamed(
        axis, inputs
    ):
        is_series = all(len(s.shape) < 2 and s.dtype != TEXT for s in inputs)
        return SEQUENCE if is_series else BATCH
    if is_batch:
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
