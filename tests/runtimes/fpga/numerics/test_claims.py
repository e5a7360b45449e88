"""What the card claims it computes as the CPU does; forms with two meanings it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.runtimes.fpga.numerics.agreement import random
from tests.runtimes.fpga.ort_sessions import card_session, cpu_session, model, taken

X = np.asarray(np.round(random(3, 2, 4, 5, 6)), np.float32)

Arrays = Mapping[str, np.ndarray]


def node(
    op: str, x: np.ndarray, weights: Arrays, kind: int = TensorProto.FLOAT, **attributes: Any
) -> Any:
    """A model of one node that reads `x` and constants."""
    graph_node = helper.make_node(op, ["x", *weights], ["y"], **attributes)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    types = {"x": element, "y": kind}
    return model([graph_node], {"x": x.shape}, {"y": None}, weights, types=types)


COMPUTED: dict[str, tuple[str, np.ndarray, Arrays, dict[str, Any]]] = {
    "shorter indices": (
        "GatherElements",
        X,
        {"i": np.array([[[[3, -1], [0, 1]]]])},
        {"axis": -1},
    ),
    "as many indices": ("GatherElements", X[0, 0], {"i": np.ones((5, 7), np.int64)}, {"axis": 1}),
    "one row of indices": ("GatherElements", X[0], {"i": np.array([[[3, 2, 1]]])}, {"axis": 0}),
    "negative limit": ("Shrink", X, {}, {"lambd": -1.0, "bias": 2.0}),
    "bias without weight": (
        "Gemm",
        X[0, 0],
        {"w": random(1, 6, 3), "c": np.full(3, np.inf, np.float32)},
        {"beta": 0.0},
    ),
    "VALID with a shape": (
        "ConvTranspose",
        X[:1, :, 0],
        {"w": random(2, 4, 3, 3)},
        {"auto_pad": "VALID", "output_shape": [7], "kernel_shape": [3]},
    ),
    "no truth": ("ReduceMax", np.zeros((2, 3), np.bool_), {"a": np.array([1])}, {}),
    "one truth": ("ReduceMin", np.eye(3, dtype=np.bool_), {"a": np.array([0])}, {}),
}
LEFT: dict[str, tuple[str, np.ndarray, Arrays, dict[str, Any]]] = {
    "an end of INT_MAX backwards": (
        "Slice",
        X[0, 0, 0],
        {"s": np.array([0]), "e": np.array([2**31 - 1]), "a": np.array([0]), "t": np.array([-1])},
        {},
    ),
    "SAME with dilations": (
        "MaxPool",
        X,
        {},
        {"kernel_shape": [2, 2], "dilations": [2, 2], "auto_pad": "SAME_LOWER"},
    ),
    "SAME with output padding": (
        "ConvTranspose",
        X[:1, :, 0],
        {"w": random(2, 4, 3, 3)},
        {"auto_pad": "SAME_UPPER", "strides": [2], "output_padding": [1]},
    ),
    "SAME with ceil_mode": (
        "AveragePool",
        X,
        {},
        {"kernel_shape": [2, 2], "strides": [2, 4], "ceil_mode": 1, "auto_pad": "SAME_UPPER"},
    ),
    "no axes to squeeze": ("Squeeze", X[:1], {"a": np.array([], np.int64)}, {}),
    "pads that cut too much": ("Pad", X[0, 0, 0], {"p": np.array([-7, 8])}, {}),
    "shares of nothing": ("Softmax", np.zeros((2, 0), np.float32), {}, {}),
    "a mean of nothing": ("ReduceMean", np.zeros((2, 0), np.float32), {"a": np.array([1])}, {}),
    "a product of nothing": (
        "Gemm",
        np.zeros((2, 0), np.float32),
        {"w": np.zeros((0, 3), np.float32)},
        {},
    ),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_the_card_computes_what_it_claims(case: str) -> None:
    op, x, weights, attributes = COMPUTED[case]
    kind = TensorProto.BOOL if x.dtype == np.bool_ else TensorProto.FLOAT
    proto = node(op, x, weights, kind, **attributes)
    session = card_session(proto)
    assert taken(session) == [op]
    (actual,), (expected,) = (s.run(None, {"x": x}) for s in (session, cpu_session(proto)))
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if kind == TensorProto.BOOL:
        assert np.array_equal(actual, expected)
    else:
        assert np.allclose(actual, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("case", LEFT)
def test_forms_with_two_meanings_are_left_to_the_cpu(case: str) -> None:
    op, x, weights, attributes = LEFT[case]
    proto = node(op, x, weights, **attributes)
    session = card_session(proto)
    assert taken(session) == []
    (actual,), (expected,) = (s.run(None, {"x": x}) for s in (session, cpu_session(proto)))
    assert np.array_equal(actual, expected)
