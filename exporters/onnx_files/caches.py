"""Inputs that count the entries of a key-value cache: positions and lengths follow its size.

A decoder takes keys and values of the tokens before (`past`), and the tokens of this call. Its
positions begin where the cache ends, and the lengths that attention operators take are those of
both together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import GraphProto

from exporters.types import Dimension, TensorSpec

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
