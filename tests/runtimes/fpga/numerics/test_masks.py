"""Masks on the card: what torch's attention asks of floats, and what it chooses by the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from runtimes.fpga.numerics.operator import round_bf16
from tests.runtimes.fpga.numerics.agreement import few, seeds
from tests.runtimes.fpga.ort_sessions import CPU, card_session, cpu_session, model, taken

BOOL, FLOAT, INT64 = TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)


@few
@given(st.sampled_from(COMPARISONS), seeds)
def test_floats_are_compared_as_the_card_holds_them(op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    proto = model(
        [helper.make_node(op, ["a", "b"], ["y"])],
        {"a": [3, 6], "b": [6]},
        {"y": [3, 6]},
        types={"y": BOOL},
    )
    a = rng.choice([*SPECIAL, 1.001, -2.0], (3, 6)).astype(np.float32)
    feeds = {"a": a, "b": rng.permutation(SPECIAL)}
    session = card_session(proto)
    assert taken(session) == [op]
    (expected,) = cpu_session(proto).run(None, {n: round_bf16(f) for n, f in feeds.items()})
    np.testing.assert_array_equal(session.run(None, feeds)[0], expected)


@pytest.mark.parametrize("attributes", [{}, {"detect_positive": 0}, {"detect_negative": 0}])
def test_infinities_are_found_on_the_side_that_was_asked_for(attributes: dict[str, Any]) -> None:
    proto = model(
        [helper.make_node("IsInf", ["x"], ["y"], **attributes)],
        {"x": [6]},
        {"y": [6]},
        types={"y": BOOL},
    )
    session = card_session(proto)
    assert taken(session) == ["IsInf"]
    (expected,) = cpu_session(proto).run(None, {"x": SPECIAL})
    np.testing.assert_array_equal(session.run(None, {"x": SPECIAL})[0], expected)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_masks_that_arrive_are_combined_and_choose(op: str) -> None:
    truth = np.array([[True, True, False, False], [True, False, True, False]])
    proto = model(
        [
            helper.make_node(op, ["a", "b"], ["both"]),
            helper.make_node("Not", ["both"], ["neither"]),
            helper.make_node("Where", ["neither", "x", "low"], ["y"]),
        ],
        {"a": [4], "b": [4], "x": [4]},
        {"y": [4]},
        {"low": np.array(-5.0, np.float32)},
        types={"a": BOOL, "b": BOOL},
    )
    feeds = {"a": truth[0], "b": truth[1], "x": np.arange(4, dtype=np.float32)}
    session = card_session(proto)
    assert {op, "Where"} <= set(taken(session))
    assert taken(session, CPU) == []
    (expected,) = cpu_session(proto).run(None, feeds)
    np.testing.assert_array_equal(session.run(None, feeds)[0], expected)


def test_a_mask_of_whole_numbers_becomes_truth_and_a_truth_a_number() -> None:
    """How Hugging Face's attention_mask arrives, and how older models add it to the scores."""
    proto = model(
        [
            helper.make_node("Cast", ["mask"], ["kept"], to=BOOL),
            helper.make_node("Cast", ["kept"], ["one"], to=FLOAT),
            helper.make_node("Cast", ["mask"], ["number"], to=FLOAT),
            helper.make_node("Add", ["one", "number"], ["y"]),
        ],
        {"mask": [4]},
        {"y": [4]},
        types={"mask": INT64},
    )
    session = card_session(proto)
    assert taken(session) == ["Add", "Cast", "Cast", "Cast"]
    (actual,) = session.run(None, {"mask": np.array([0, 1, 3, 0])})
    assert actual.tolist() == [0.0, 2.0, 4.0, 0.0]


def test_a_cast_to_whole_numbers_is_left_to_others() -> None:
    proto = model(
        [helper.make_node("Cast", ["x"], ["y"], to=INT64)], {"x": [4]}, {"y": [4]}, types={"y": 7}
    )
    assert taken(card_session(proto)) == []


def test_the_lowest_float32_masks_and_does_not_turn_a_row_into_nan() -> None:
    """torch.finfo(float32).min rounds to minus infinity in bf16, whose softmax would be NaN."""
    lowest = np.finfo(np.float32).min
    proto = model(
        [
            helper.make_node("Add", ["x", "low"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["y"], axis=-1),
        ],
        {"x": [2, 4]},
        {"y": [2, 4]},
        {"low": np.array([[lowest] * 4, [0, 0, lowest, lowest]], np.float32)},
    )
    feeds = {"x": np.zeros((2, 4), np.float32)}
    (actual,) = card_session(proto).run(None, feeds)
    np.testing.assert_array_equal(actual, [[0.25] * 4, [0.5, 0.5, 0, 0]])
    (infinite,) = card_session(
        model([helper.make_node("Neg", ["x"], ["y"])], {"x": [1]}, {"y": [1]})
    ).run(None, {"x": np.array([np.inf], np.float32)})
    assert infinite == -np.inf
