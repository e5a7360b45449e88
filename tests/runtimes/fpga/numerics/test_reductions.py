"""Reductions and the softmax family on the card against ONNX Runtime's CPU."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnx import helper

from tests.runtimes.fpga.numerics.agreement import LEAST_EXPONENT, agree, few, random, seeds
from tests.runtimes.fpga.ort_sessions import card_session, model, taken

FUNCTION = 8
"""Roundings of an exponential, a logarithm or a power: each within a few units of float32."""
REDUCTIONS = (
    *("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1"),
    *("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)
SHAPES = st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple)


@dataclass(frozen=True, slots=True)
class Reduction:
    """`axes` count from the back; none of them means all."""

    op: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    keepdims: int
    axes_are_attributes: bool


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    op, shape = draw(st.sampled_from(REDUCTIONS)), draw(SHAPES)
    axes = tuple(sorted(draw(st.sets(st.integers(-len(shape), -1)))))
    older = op != "ReduceSum" and draw(st.booleans())
    return Reduction(op, shape, axes, draw(st.integers(0, 1)), older)


def magnitude_of(reduction: Reduction, x: np.ndarray) -> np.ndarray | float:
    """How large the values are that a reduction of positive values puts together."""
    if reduction.op.startswith("ReduceLogSum"):
        return 1.0  # a relative error of the sum is an absolute one of its logarithm
    if reduction.op == "ReduceProd":
        # A product below the normal numbers is within a spacing of 2**-149; then the factors
        # above one may follow, in the order where they make the most of it.
        axes = reduction.axes or None
        growth = np.maximum(x, 1.0).astype(np.float64)
        largest = growth.prod(axis=axes, keepdims=bool(reduction.keepdims))
        return np.asarray(np.ldexp(largest, LEAST_EXPONENT))
    return 0.0


@few
@given(reductions(), seeds)
# Products below the least normal number, where relative differences mean nothing.
@example(Reduction("ReduceProd", (6, 6, 6, 2), (), 1, False), 300)
@example(Reduction("ReduceProd", (6, 6, 6, 6), (), 1, False), 1072)
@example(Reduction("ReduceProd", (6, 6, 6, 2), (), 0, True), 6612)
def test_a_reduction_is_within_one_rounding_of_the_cpu(reduction: Reduction, seed: int) -> None:
    # A positive sum has a logarithm and does not cancel.
    x = np.abs(random(seed, *reduction.shape)) + np.float32(0.25)
    attributes: dict[str, Any] = {"keepdims": reduction.keepdims}
    weights = {}
    if reduction.axes and reduction.axes_are_attributes:
        attributes["axes"] = list(reduction.axes)
    elif reduction.axes:
        weights["axes"] = np.array(reduction.axes)
    node = helper.make_node(reduction.op, ["x", *weights], ["y"], **attributes)
    opset = 13 if reduction.axes_are_attributes else 20
    proto = model([node], {"x": x.shape}, {"y": None}, weights, opset=opset)
    roundings = 2 * prod(reduction.shape) + FUNCTION
    agree(proto, {"x": x}, roundings, magnitude_of(reduction, x))


@st.composite
def rows(draw: st.DrawFn) -> tuple[tuple[int, ...], int]:
    """A shape and one of its axes."""
    shape = draw(SHAPES)
    return shape, draw(st.integers(0, len(shape) - 1))


@few
@given(st.sampled_from(["Softmax", "LogSoftmax"]), rows(), st.sampled_from([11, 20]), seeds)
def test_a_softmax_of_either_meaning_is_within_one_rounding_of_the_cpu(
    op: str, row: tuple[tuple[int, ...], int], opset: int, seed: int
) -> None:
    shape, axis = row
    node = helper.make_node(op, ["x"], ["y"], axis=axis)
    x = random(seed, *shape)
    # Differences of inputs are exponents, and the logarithm of the sum is taken from them.
    largest = 2 * float(np.abs(x).max())
    magnitude = largest if op == "LogSoftmax" else 0.0
    roundings = prod(shape) + 2 * FUNCTION + round(largest)
    agree(model([node], {"x": shape}, {"y": shape}, opset=opset), {"x": x}, roundings, magnitude)


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("ReduceMax", -np.inf),
        ("ReduceMin", np.inf),
        ("ReduceSum", 0.0),
        ("ReduceProd", 1.0),
        ("ReduceL1", 0.0),
        ("ReduceL2", 0.0),
        ("ReduceLogSum", -np.inf),
        ("ReduceLogSumExp", -np.inf),
        ("ReduceSumSquare", 0.0),
    ],
)
@pytest.mark.parametrize(
    ("axes", "keepdims", "shape"),
    [([0], 0, (2,)), ([0], 1, (1, 2)), ([0, 1], 0, ()), ([1], 0, (0,)), ([1], 1, (0, 1))],
)
def test_nothing_is_reduced_to_what_onnx_says(
    op: str, value: float, axes: list[int], keepdims: int, shape: tuple[int, ...]
) -> None:
    """ONNX's text of each operator; ONNX Runtime's CPU keeps axes that it should reduce."""
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=keepdims)
    session = card_session(model([node], {"x": (0, 2)}, {"y": None}, {"axes": np.array(axes)}))
    assert taken(session) == [op]
    (actual,) = session.run(None, {"x": np.zeros((0, 2), np.float32)})
    np.testing.assert_array_equal(actual, np.full(shape, value, np.float32), strict=True)
