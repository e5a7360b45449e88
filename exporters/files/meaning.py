"""What the inputs of a graph are for, so that what is drawn means something to it.

Told by what its nodes do with them (ids of a table, how often a loop runs), and by the names
that exporters of language models give. Only the graph is read, no weight beyond small constants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from onnx import GraphProto

from exporters.files.caches import in_step
from exporters.files.integers import Use, uses_of
from exporters.files.texts import words_of
from exporters.types import TEXT, TensorSpec

_PADDED = re.compile(r"key_padding", re.IGNORECASE)
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
    meant = (_meant(spec, uses.get(spec.name, ()), graph) for spec in specs)
    return in_step(tuple(meant), graph)


def _meant(spec: TensorSpec, uses: Sequence[Use], graph: GraphProto) -> TensorSpec:
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
    if _PADDED.search(spec.name):
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
