"""Random one-node graphs for the operators of ONNX: `draw(operator, opset, rng)`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto

from tests.differential.draft import Draft, Undrawable
from tests.differential.generators import (
    elementwise,
    images,
    movement,
    products,
    reductions,
    signals,
    structures,
    trees,
    windows,
)
from tests.differential.generators.table import GENERATORS

__all__ = ["NOT_COMPARED", "OLDEST", "Undrawable", "draw", "names", "opsets"]
_FAMILIES = (
    elementwise,
    images,
    movement,
    products,
    reductions,
    signals,
    structures,
    trees,
    windows,
)
NOT_COMPARED = {
    "CausalConvWithState": "newer than any opset that ONNX Runtime takes",
    "ImageDecoder": "it reads picture files",
    "LinearAttention": "newer than any opset that ONNX Runtime takes",
    "Multinomial": "onnx's evaluator has none, and what is drawn has no expected values",
    "SwiGLU": "newer than any opset that ONNX Runtime takes",
    "ai.onnx.ml.CastMap": "onnx's evaluator has none",
    "ai.onnx.ml.CategoryMapper": "onnx's evaluator has none",
}
"""Operators of ONNX's two domains without a generator, and why."""
OLDEST = 7
_OLDEST_ML, _NEWEST_ML = 1, 5


def names() -> list[str]:
    """The operators that have a generator; those of ai.onnx.ml begin with `ai.onnx.ml.`."""
    assert _FAMILIES
    return sorted(".".join(filter(None, operator)) for operator in GENERATORS)


def without_generator() -> set[str]:
    """The operators of ONNX's two domains that no generator makes."""
    schemas = onnx.defs.get_all_schemas_with_history()
    every = {(s.domain, s.name) for s in schemas if s.domain in ("", "ai.onnx.ml")}
    return {".".join(filter(None, operator)) for operator in every - GENERATORS.keys()}


def draw(
    operator: str, opset: int, rng: np.random.Generator, kind: type[Draft] = Draft
) -> tuple[ModelProto, dict[str, Any]]:
    """A graph of one such node and values for its inputs; Undrawable if the opset has none."""
    domain, _, name = operator.rpartition(".")
    draft = kind(name, opset, rng, domain)
    GENERATORS[domain, name](draft)
    return draft.model()


@cache
def opsets(operator: str, newest: int) -> tuple[tuple[int, ...], ...]:
    """The opsets of each version of an operator, up to the newest."""
    domain, _, name = operator.rpartition(".")
    oldest, last = (_OLDEST_ML, _NEWEST_ML) if domain else (OLDEST, newest)
    versions: dict[int, list[int]] = {}
    for opset in range(oldest, last + 1):
        try:
            schema = onnx.defs.get_schema(name, opset, domain)
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated:
            versions.setdefault(schema.since_version, []).append(opset)
    return tuple(tuple(group) for group in versions.values())
