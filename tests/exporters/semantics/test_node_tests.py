"""ONNX's own node tests hold for our evaluator, at their own opset and at each that takes them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from exporters.semantics.evaluator import Evaluator
from tests.exporters.semantics.nodes import NEWEST_OPSET, at_older_opsets

_RANDOM = "its outputs are random"
_SCAN_9 = "Scan of opset 8 has a batch, and this node has none"
_LENGTH = "the text means the length of the output, the expected values size * scale; engines agree"

KNOWN = {
    "test_bernoulli": _RANDOM,
    "test_bernoulli_double": _RANDOM,
    "test_bernoulli_double_expanded": _RANDOM,
    "test_bernoulli_expanded": _RANDOM,
    "test_bernoulli_seed": _RANDOM,
    "test_bernoulli_seed_expanded": _RANDOM,
    "test_training_dropout": _RANDOM,
    "test_training_dropout_default": _RANDOM,
    "test_training_dropout_default_mask": _RANDOM,
    "test_training_dropout_mask": _RANDOM,
    "test_resize_downsample_scales_cubic_align_corners": _LENGTH,
    "test_resize_downsample_scales_linear_align_corners": _LENGTH,
}
KNOWN_AT_OLDER_OPSETS = {
    "test_reduce_max_empty_set_bool": "ReduceMax took no booleans",
    "test_scan9_multi_state": _SCAN_9,
    "test_scan9_scalar": _SCAN_9,
    "test_scan9_sum": _SCAN_9,
    "test_scan_sum": "Scan of opset 9 has no batch, and this node has one",
}
_NEW_MEANING_OPSETS = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13}
"""Operators that meant another thing below an opset: see test_operators."""


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return list(collect_testcases())


def test_each_node_test_holds_at_its_own_opset(cases: list[Any]) -> None:
    wrong = {case.name: fault for case in cases if (fault := _fault(case.model, case))}
    assert wrong.keys() == KNOWN.keys(), {n: f for n, f in wrong.items() if n not in KNOWN}


@pytest.mark.rare
def test_each_node_test_holds_at_the_older_opsets_that_take_its_node(cases: list[Any]) -> None:
    wrong = {
        case.name: f"at {opset}: {fault}"
        for case in cases
        for opset, model, older_inputs in _older(case)
        if (fault := _fault(model, case, older_inputs)) and case.name not in KNOWN
    }
    known_faults = KNOWN_AT_OLDER_OPSETS
    assert wrong.keys() == known_faults.keys(), {
        n: f for n, f in wrong.items() if n not in known_faults
    }


def _older(case: Any) -> Iterator[Any]:
    nodes = case.model.graph.node
    if len(nodes) != 1 or nodes[0].domain or case.model.functions:
        return
    least = _NEW_MEANING_OPSETS.get(nodes[0].op_type, 0)
    for opset, model, older_inputs in at_older_opsets(case.model, _inputs(case)):
        if least <= opset <= NEWEST_OPSET:
            yield opset, model, older_inputs


def _inputs(case: Any) -> dict[str, Any]:
    values = case.data_sets[0][0]
    ends = [value.name for value in case.model.graph.input]
    return {name: _plain(value) for name, value in zip(ends, values, strict=False)}


def _fault(model: onnx.ModelProto, case: Any, older_inputs: dict[str, Any] | None = None) -> str:
    """What is wrong with the outputs; empty for nothing."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = Evaluator(model).run(
                None, _inputs(case) if older_inputs is None else older_inputs
            )
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return next(filter(None, map(_differs, outputs, map(_plain, case.data_sets[0][1]))), "")


def _plain(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _differs(actual: Any, expected: Any) -> str:
    if isinstance(expected, list):
        same = isinstance(actual, list) and len(actual) == len(expected)
        return (
            next(filter(None, map(_differs, actual, expected)), "") if same else "no such sequence"
        )
    if expected is None:
        return "" if actual is None else "something where nothing is expected"
    a, b = np.asarray(actual), np.asarray(expected)
    if a.dtype.kind in "OUS":
        return "" if a.tolist() == b.tolist() else "other texts"
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{a.dtype} {a.shape}, not {b.dtype} {b.shape}"
    kind: Any = np.complex128 if a.dtype.kind == "c" else np.float64
    close = np.allclose(a.astype(kind), b.astype(kind), rtol=1e-3, atol=1e-5, equal_nan=True)
    return "" if close else "other values"
