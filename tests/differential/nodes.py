"""Random one-node graphs for the operators of ONNX: `draw(operator, opset, rng)`."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper

from tests.differential.draft import GENERATORS, IR_VERSION, Draft, Undrawable
from tests.differential.generators import (
    elementwise,
    movement,
    reductions,
    structures,
    trees,
    windows,
)

__all__ = ["NEWEST_OPSET", "NOT_COMPARED", "OLDEST", "Undrawable", "draw", "names", "opsets"]
_FAMILIES = (elementwise, movement, reductions, structures, trees, windows)
NOT_COMPARED = {
    "CausalConvWithState": "newer than any opset that ONNX Runtime takes",
    "ImageDecoder": "it reads picture files",
    "LinearAttention": "newer than any opset that ONNX Runtime takes",
    "Multinomial": "onnx's evaluator has none, and what is drawn has no expected values",
    "SwiGLU": "newer than any opset that ONNX Runtime takes",
    "ai.onnx.ml.CastMap": "onnx's evaluator has none",
    "ai.onnx.ml.CategoryMapper": "onnx's evaluator has none",
}
"""Operators of ONNX's two domains that are not drawn, and why."""
_DOMAINS = ("", "ai.onnx.ml")
OLDEST = 7
NEWEST_OPSET = 26
"""The newest that the oldest supported ONNX Runtime accepts without a warning."""
_OLDEST_ML, _NEWEST_ML = 1, 5


_OperatorId = tuple[str, str]


@cache
def _cases() -> dict[_OperatorId, dict[int, list[tuple[ModelProto, list[Any]]]]]:
    """Models and inputs of onnx's own node tests of a single node, by operator and version."""
    cases: defaultdict[_OperatorId, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        tests: list[Any] = collect_testcases(None)
    for test in tests:
        node, *others = test.model.graph.node
        name, domain = node.op_type, node.domain
        if (
            others
            or domain not in _DOMAINS
            or ".".join(filter(None, (domain, name))) in NOT_COMPARED
        ):
            continue
        opset = next(o.version for o in test.model.opset_import if o.domain == domain)
        version = onnx.defs.get_schema(name, min(opset, NEWEST_OPSET), domain).since_version
        cases[domain, name][version].append((test.model, list(test.data_sets[0][0])))
    return dict(cases)


def names() -> list[str]:
    """The operators that are drawn; those of ai.onnx.ml begin with `ai.onnx.ml.`."""
    assert _FAMILIES
    return sorted(".".join(filter(None, operator)) for operator in GENERATORS.keys() | _cases())


def not_drawn() -> set[str]:
    """The operators of ONNX's two domains that nothing draws."""
    schemas = onnx.defs.get_all_schemas_with_history()
    every = {(s.domain, s.name) for s in schemas if s.domain in _DOMAINS}
    return {".".join(filter(None, operator)) for operator in every} - set(names())


def draw(
    operator: str, opset: int, rng: np.random.Generator, kind: type[Draft] = Draft
) -> tuple[ModelProto, dict[str, Any]]:
    """A graph of one such node and values for its inputs; Undrawable if the opset has none.

    Where no generator makes the operator, it is one of onnx's node tests with its numbers in
    another order and scale.
    """
    domain, _, name = operator.rpartition(".")
    if generator := GENERATORS.get((domain, name)):
        draft = kind(name, opset, rng, domain)
        generator(draft)
        return draft.model()
    cases = (
        _cases()
        .get((domain, name), {})
        .get(onnx.defs.get_schema(name, opset, domain).since_version)
    )
    if not cases:
        raise Undrawable(f"{operator} of opset {opset}")
    test, inputs = cases[int(rng.integers(len(cases)))]
    model = ModelProto(ir_version=IR_VERSION, graph=test.graph)
    model.opset_import.append(helper.make_opsetid(domain, opset))
    values = (_redrawn(value, rng) for value in inputs)
    return model, dict(zip((end.name for end in test.graph.input), values, strict=True))


def _redrawn(value: Any, rng: np.random.Generator) -> Any:
    """Real numbers in another order and scale; whole ones of several axes in another order."""
    if isinstance(value, list):
        return [_redrawn(part, rng) for part in value]
    value = np.asarray(value)
    if value.size == 1 or rng.random() < 0.2:  # one number may be a count
        return value
    if value.dtype.kind == "f":
        scaled = rng.permutation(value.ravel()) * rng.uniform(0.5, 2)
        return scaled.reshape(value.shape).astype(value.dtype)
    if value.dtype.kind in "iu" and value.ndim > 1:
        return rng.permutation(value.ravel()).reshape(value.shape)
    return value


@cache
def opsets(operator: str, newest: int) -> tuple[tuple[int, ...], ...]:
    """The opsets of each version of an operator, up to the newest."""
    domain, _, name = operator.rpartition(".")
    oldest, last = (_OLDEST_ML, _NEWEST_ML) if domain else (OLDEST, newest)
    versions: dict[int, list[int]] = {}
    held = None if (domain, name) in GENERATORS else _cases().get((domain, name), {})
    for opset in range(oldest, last + 1):
        try:
            schema = onnx.defs.get_schema(name, opset, domain)
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated and (held is None or schema.since_version in held):
            versions.setdefault(schema.since_version, []).append(opset)
    return tuple(tuple(group) for group in versions.values())
