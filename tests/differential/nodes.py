"""Random one-node graphs, `draw(operator, opset, rng)`: of the card's operators, and of some that
onnx's evaluator errs on."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto

from runtimes.fpga.numerics import emulation  # noqa: F401  (with all operators)
from runtimes.fpga.numerics.operator import OPERATORS
from tests.differential.draft import GENERATORS, Draft, Undrawable
from tests.differential.generators import elementwise, movement, reductions, windows

__all__ = ["NAMES", "NEWEST_OPSET", "Undrawable", "draw", "opsets", "rng_of"]
_FAMILIES = (movement, reductions, windows)
for _name in OPERATORS.keys() - GENERATORS.keys():
    _is_unary = onnx.defs.get_schema(_name).max_input == 1
    GENERATORS[_name] = elementwise.unary if _is_unary else elementwise.binary
NAMES = tuple(sorted(GENERATORS))
NEWEST_OPSET = 26
"""The newest that the oldest supported ONNX Runtime accepts without a warning."""
_OLDEST = 7


def rng_of(seed: int, operator: str, number: int) -> np.random.Generator:
    """The random numbers of one draw, whatever else is drawn."""
    return np.random.default_rng([seed, zlib.crc32(operator.encode()), number])


def draw(
    operator: str, opset: int, rng: np.random.Generator, kind: type[Draft] = Draft
) -> tuple[ModelProto, dict[str, Any]]:
    """A graph of one such node and values for its inputs; Undrawable if the opset has none."""
    draft = kind(operator, opset, rng)
    GENERATORS[operator](draft)
    return draft.model()


@cache
def opsets(operator: str, newest: int = NEWEST_OPSET) -> tuple[tuple[int, ...], ...]:
    """The opsets of each version of an operator, up to the newest."""
    versions: dict[int, list[int]] = {}
    for opset in range(_OLDEST, newest + 1):
        if onnx.defs.has(operator, opset):
            schema = onnx.defs.get_schema(operator, opset)
            if not schema.deprecated:
                versions.setdefault(schema.since_version, []).append(opset)
    return tuple(tuple(group) for group in versions.values())
