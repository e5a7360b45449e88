"""Rows and corrections are needed and right: onnx's evaluator alone against ONNX Runtime."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from exporters.onnx_evaluator.corrections import CORRECTIONS
from exporters.onnx_evaluator.evaluator import Distrust, Evaluator
from exporters.onnx_evaluator.table import ROWS, Row
from exporters.onnx_files.engine import opened
from tests.differential import nodes
from tests.differential.agreement import agree
from tests.exporters.onnx_evaluator.examples import EXAMPLES, Example, example, reals

pytest.importorskip("onnxruntime")

_SEED, _DRAWS = 55, 400
_ABSENT = "onnx's evaluator lacks it"
_NO_DEFINITION = "not defined"


def _cases(domain: str, operator: str, opset_limit: int = nodes.NEWEST_OPSET) -> Iterator[Example]:
    """Examples of an operator, or draws where it has a generator."""
    for model, feeds in EXAMPLES:
        node = model.graph.node[0]
        if (node.domain, node.op_type) == (domain, operator):
            yield model, feeds
    if domain or operator not in nodes.NAMES:
        return
    groups = nodes.opsets(operator)
    opsets = [opset for group in groups for opset in group if opset < opset_limit]
    for number in range(_DRAWS):
        rng = nodes.rng_of(_SEED, operator, number)
        try:
            yield nodes.draw(operator, int(rng.choice(opsets)), rng)
        except nodes.Undrawable:
            continue


def _by(evaluator: type[ReferenceEvaluator], model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluator(model).run(None, dict(feeds))


def _by_engine(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    return opened(model.SerializeToString(), ()).run(None, feeds)


def _contradicts(model: onnx.ModelProto, feeds: dict[str, Any]) -> bool:
    """Whether onnx's evaluator gives other outputs than the engine."""
    try:
        bare, engine = _by(ReferenceEvaluator, model, feeds), _by_engine(model, feeds)
    except Exception:
        return False
    return not agree(bare, engine)


def _is_reason(row: Row, model: onnx.ModelProto, feeds: dict[str, Any]) -> bool:
    try:
        _by(Evaluator, model, feeds)
    except Exception as error:
        return row.reason in str(error)
    return False


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.operators}: {row.reason}")
def test_each_row_is_needed_or_says_what_is_not_defined(row: Row) -> None:
    assert row.reason and row.source
    if row.reason == _ABSENT or _NO_DEFINITION in row.reason:
        return
    assert any(
        _is_reason(row, *case) and _contradicts(*case)
        for name in row.operators.split()
        for case in _cases(row.domain, name)
    ), "onnx's evaluator is right now: take the row away"


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml"])
def test_what_the_evaluator_lacks_stands_in_the_table(domain: str) -> None:
    names = {
        name
        for row in ROWS
        if (row.domain, row.reason) == (domain, _ABSENT)
        for name in row.operators.split()
    }
    schemas = [s for s in onnx.defs.get_all_schemas() if s.domain == domain]
    absent = {s.name for s in schemas if _is_absent(s)} - CORRECTIONS.keys()
    assert absent == names


def _is_absent(schema: Any) -> bool:
    graph = helper.make_graph([], "empty", [], [])
    opsets = [helper.make_opsetid(schema.domain, schema.since_version)]
    evaluator: Any = ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))
    try:
        evaluator._load_impl(helper.make_node(schema.name, ["x"], ["y"], domain=schema.domain))
    except NotImplementedError:
        return True
    except RuntimeError:  # a function of the types of its inputs
        return False
    return False


@pytest.mark.parametrize("operator", CORRECTIONS)
def test_each_correction_is_needed_and_right(operator: str) -> None:
    correction, opset_limit = CORRECTIONS[operator]
    necessity = agreements = comparisons = 0
    for case in _cases(correction.op_domain, operator, opset_limit):
        try:
            evaluator_outputs, engine_outputs = _by(Evaluator, *case), _by_engine(*case)
        except Exception:
            continue
        comparisons += 1
        agrees = agree(evaluator_outputs, engine_outputs)
        agreements += agrees
        necessity += agrees and not _bare_agrees(*case, engine_outputs)
        if necessity and comparisons > 80:
            break
    assert necessity, "onnx's evaluator is right now: take the correction away"
    assert comparisons > 10 or operator not in nodes.NAMES
    assert agreements > 0.9 * comparisons, f"{agreements} of {comparisons}"


def _bare_agrees(model: onnx.ModelProto, feeds: dict[str, Any], expected: list[Any]) -> bool:
    try:
        return agree(_by(ReferenceEvaluator, model, feeds), expected)
    except Exception:
        return False


def _result(op: str, inputs: list[np.ndarray], opset: int, **attributes: Any) -> np.ndarray:
    model, feeds = example(op, inputs, opset, **attributes)
    weights = [numpy_helper.from_array(value, name) for name, value in feeds.items()]
    model.graph.ClearField("input")
    model.graph.initializer.extend(weights)
    (result,) = _by(Evaluator, model, {})
    return np.asarray(result)


def test_half_precision_is_summed_in_single() -> None:
    x = np.array([[200, 100, -200, 150]], np.float16)
    root = np.sqrt(np.square(x.astype(float)).mean())
    y = _result("RMSNormalization", [x, np.ones(4, np.float16)], 23)
    assert y.dtype == np.float16
    assert y == pytest.approx(x / root, rel=2e-3)
    assert _result("ReduceL2", [np.full(4, 300, np.float16)], 18) == pytest.approx([600], rel=2e-3)
    far = np.array([[[999, 1001], [1003, 997]]], np.float16)
    y = _result("GroupNormalization", [far, *np.array([[1], [0]], np.float16)], 18, num_groups=1)
    assert y == pytest.approx((far.astype(float) - 1000) / np.sqrt(5), rel=1e-2)


def test_where_a_window_passes_the_pads_nothing_is_counted() -> None:
    """The lower left window has one element of the input and one pad, and half of it is outside."""
    settings = {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1}
    x = np.ones((1, 1, 3, 3), np.float32)
    y = _result("AveragePool", [x], 19, pads=[0, 1, 0, 0], **settings)
    assert y.tolist() == [[[[0.5, 1.0], [0.5, 1.0]]]]


def test_a_cubic_of_coefficient_zero_is_no_default() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    sizes = np.array([1, 1, 8])
    empty = np.zeros(0, np.float32)
    y = _result("Resize", [x, empty, empty, sizes], 13, mode="cubic", cubic_coeff_a=0.0)
    # At distances 0.25 and 0.75 from its neighbours, Keys' kernel is 2 d^3 - 3 d^2 + 1.
    assert y[0, 0, 1] == pytest.approx(1 - 0.84375, abs=1e-6)


def test_a_node_that_is_not_believed_is_named() -> None:
    with pytest.raises(Distrust, match="Hardmax 'y0'"):
        _result("Hardmax", [np.ones((2, 3), np.float32)], 12)


def test_trees_are_believed_where_each_leaf_scores_every_target() -> None:
    """One split and two leaves; as scikit-learn's forests score, and with a target left out."""
    tree: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "n_targets": 2,
    }
    for leaves, targets in (([1, 1, 2, 2], [0, 1, 0, 1]), ([1, 2], [0, 1])):
        scores: dict[str, Any] = {"target_nodeids": leaves, "target_ids": targets}
        scores |= {"target_treeids": [0] * len(leaves), "target_weights": [0.5] * len(leaves)}
        case = example("TreeEnsembleRegressor", [reals(3, 2)], 3, **tree, **scores)
        if len(leaves) == 4:
            assert agree(_by(Evaluator, *case), _by_engine(*case))
        else:
            with pytest.raises(Distrust, match="not defined"):
                _by(Evaluator, *case)
