"""What the card claims it computes as the CPU does, in bf16, from operators to whole models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from exporters.messages import ExportRequest
from exporters.models.catalogue import by_suite
from exporters.types import axes_key, load_reference
from exporters.worker import export
from runtimes.fpga import provider
from runtimes.fpga.numerics.operator import round_bf16
from tests.checkout import ROOT
from tests.exporters.support import nodes_of
from tests.runtimes.fpga.ort_sessions import (
    CPU,
    card_session,
    cpu_session,
    disagreement,
    model,
    of_text,
    quiet_options,
    taken,
)
from tests.seldom import seldom_but


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


X = np.asarray(np.round(random(3, 2, 4, 5, 6)), np.float32)

NOTHING = np.zeros((2, 0), np.float32)
BOOL = TensorProto.BOOL
Arrays = Mapping[str, np.ndarray]


COMPUTED: dict[str, tuple[str, np.ndarray, Arrays]] = {
    "shorter indices": (
        "GatherElements <axis = -1> (x, i)",
        X,
        {"i": np.array([[[[3, -1], [0, 1]]]])},
    ),
    "negative limit": ("Shrink <lambd = -1.0, bias = 2.0> (x)", X, {}),
    "bias without weight": (
        "Gemm <beta = 0.0> (x, w, c)",
        X[0, 0],
        {"w": random(1, 6, 3), "c": np.full(3, np.inf, np.float32)},
    ),
    "VALID with a shape": (
        'ConvTranspose <auto_pad = "VALID", output_shape = [7], kernel_shape = [3]> (x, w)',
        X[:1, :, 0],
        {"w": random(2, 4, 3, 3)},
    ),
    "whole numbers as truth": ("Cast <to = 9> (x)", np.array([0, 1, 3, 0]), {}),
    "whole numbers as numbers": ("Cast <to = 1> (x)", np.array([0, 1, 3, 0]), {}),
    "truth as numbers": ("Cast <to = 1> (x)", np.array([False, True]), {}),
    "no truth": ("ReduceMax (x, a)", np.zeros((2, 3), np.bool_), {"a": np.array([1])}),
}
SAME_POOL = 'MaxPool <kernel_shape = [2, 2], dilations = [2, 2], auto_pad = "SAME_LOWER"> (x)'
CEIL_POOL = """AveragePool <kernel_shape = [2, 2], strides = [2, 4], ceil_mode = 1,
    auto_pad = "SAME_UPPER"> (x)"""
BACKWARDS = {"s": np.array([0]), "e": np.array([2**31 - 1]), "a": np.array([0])}
LEFT: dict[str, tuple[str, np.ndarray, Arrays]] = {
    "an end of INT_MAX backwards": (
        "Slice (x, s, e, a, t)",
        X[0, 0, 0],
        BACKWARDS | {"t": np.array([-1])},
    ),
    "SAME with dilations": (SAME_POOL, X, {}),
    "SAME with output padding": (
        'ConvTranspose <auto_pad = "SAME_UPPER", strides = [2], output_padding = [1]> (x, w)',
        X[:1, :, 0],
        {"w": random(2, 4, 3, 3)},
    ),
    "SAME with ceil_mode": (CEIL_POOL, X, {}),
    "a cast to whole numbers": ("Cast <to = 7> (x)", X, {}),
    "no axes to squeeze": ("Squeeze (x, a)", X[:1], {"a": np.array([], np.int64)}),
    "a mean of nothing": ("ReduceMean (x, a)", NOTHING, {"a": np.array([1])}),
    "pads that cut too much": ("Pad (x, p)", X[0, 0, 0], {"p": np.array([-7, 8])}),
    "shares of nothing": ("Softmax (x)", NOTHING, {}),
    "a product of nothing": ("Gemm (x, w)", NOTHING, {"w": np.zeros((0, 3), np.float32)}),
}


@pytest.mark.parametrize("case", [*COMPUTED, *LEFT])
def test_the_card_computes_what_it_claims_and_leaves_forms_with_two_meanings(case: str) -> None:
    text, x, weights = (COMPUTED | LEFT)[case]
    (graph_node,) = nodes_of(f"y = {text}")
    to = [attribute.i for attribute in graph_node.attribute if attribute.name == "to"]
    kind = to[0] if to else BOOL if x.dtype == np.bool_ else TensorProto.FLOAT
    types = {"x": helper.np_dtype_to_tensor_dtype(x.dtype), "y": kind}
    proto = model([graph_node], {"x": x.shape}, {"y": None}, weights, types=types)
    session = card_session(proto)
    assert taken(session) == [graph_node.op_type] * (case in COMPUTED)
    (actual,), (expected,) = (s.run(None, {"x": x}) for s in (session, cpu_session(proto)))
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if case in LEFT or kind == BOOL:
        assert np.array_equal(actual, expected)
    else:
        assert np.allclose(actual, expected, rtol=2e-2, atol=2e-2)


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


@pytest.mark.parametrize(("size", "kernel", "is_taken"), [(2, 3, False), (3, 3, True)])
def test_a_window_larger_than_its_input_is_left_to_the_cpu(
    size: int, kernel: int, is_taken: bool
) -> None:
    """With ceil_mode ONNX's inference gives one output of a window that does not fit."""
    attributes: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "strides": [1]}
    node = helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[kernel], **attributes)
    session = card_session(model([node], {"x": (1, 1, size)}, {"y": None}, opset=22))
    assert taken(session) == ["LpPool"] * is_taken


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_sequence_and_its_steps_give_equal_numbers(kind: str) -> None:
    steps, batch, inputs, hidden_size = 12, 2, 5, 7
    gates = {"LSTM": 4, "GRU": 3}[kind] * hidden_size
    sizes = {"w": (gates, inputs), "r": (gates, hidden_size), "b": (2 * gates,)}
    weights = {name: random(4, 1, *shape) / 3 for name, shape in sizes.items()}
    attributes: dict[str, Any] = {"hidden_size": hidden_size}
    attributes |= {"linear_before_reset": 1} if kind == "GRU" else {}
    x = round_bf16(random(3, steps, batch, inputs))
    whole = helper.make_node(kind, ["x", *weights], ["y"], **attributes)
    (expected,) = card_session(model([whole], {"x": x.shape}, {"y": None}, weights)).run(
        None, {"x": x}
    )
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    ends = [f"{name}_end" for name in states]
    node = helper.make_node(kind, ["x", *weights, "", *states], ["y", *ends], **attributes)
    shape = (1, batch, hidden_size)
    feeds = {"x": (1, batch, inputs), **dict.fromkeys(states, shape)}
    step = card_session(model([node], feeds, dict.fromkeys(["y", *ends]), weights))
    step_states = {name: np.zeros(shape, np.float32) for name in states}
    for t in range(steps):
        y, *next_states = step.run(None, {"x": x[t : t + 1], **step_states})
        np.testing.assert_array_equal(y[0], expected[t])
        step_states = dict(zip(states, next_states, strict=True))


def test_the_lowest_float32_masks_and_does_not_turn_a_row_into_nan() -> None:
    """torch.finfo(float32).min rounds to minus infinity in bf16, whose softmax would be NaN."""
    lowest = np.finfo(np.float32).min
    ends = "(float[2,4] x) => (float[2,4] y)"
    low = np.array([[lowest] * 4, [0, 0, lowest, lowest]], np.float32)
    text = f"{ends} {{ scores = Add(x, low) y = Softmax <axis = -1> (scores) }}"
    proto = of_text(text, low=low)
    feeds = {"x": np.zeros((2, 4), np.float32)}
    (actual,) = card_session(proto).run(None, feeds)
    np.testing.assert_array_equal(actual, [[0.25] * 4, [0.5, 0.5, 0, 0]])
    # As torch's older exporter writes attention: a row that may look at nothing is guarded.
    low = np.array([[-np.inf] * 4, [0, 0, -np.inf, -np.inf]], np.float32)
    text = f"{ends} {{ s = Add(x, low) p = Softmax(s) n = IsNaN(p) y = Where(n, zero, p) }}"
    guarded = of_text(text, low=low, zero=np.float32(0))
    (actual,) = card_session(guarded).run(None, feeds)
    np.testing.assert_array_equal(actual, [[0] * 4, [0.5, 0.5, 0, 0]])
    negative = card_session(of_text("(float[1] x) => (float[1] y) { y = Neg(x) }"))
    (infinite,) = negative.run(None, {"x": np.array([np.inf], np.float32)})
    assert infinite == -np.inf


A_FEW = (
    *("conv3d_f32_s2", "pad2d_symmetric", "maxpool2d_k4_s2", "mobilenet_block_32", "cnn_tiny"),
)
SELDOM = ("depthwise2d_f32_s2", "batchnorm_4d", "densenet_block_1d_32", "lstm_tiny_seq")
ALL = tuple(d.name for suite, group in by_suite().items() if suite != "zoo" for d in group)


@pytest.fixture(scope="module")
def large_card(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Options of a card with more tiles than any FPGA holds, its file without the part that would
    refuse them: what fits is not this test's question."""
    head, _, tail = (ROOT / "runtimes/fpga/cards/v80.toml").read_text("utf-8").partition("[part]")
    path = tmp_path_factory.mktemp("cards") / "large.toml"
    path.write_text(head + tail[tail.index("[releases") :], "utf-8")
    return {"card": str(path), "tiles": "100000"}


@pytest.mark.parametrize(
    "name", ALL if os.environ.get("GRAPHLAP_ALL_MODELS") else seldom_but(A_FEW, A_FEW + SELDOM)
)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_card_agrees_with_torch(name: str, cache: Path, large_card: dict[str, str]) -> None:
    model, _ = export(ExportRequest(model=name, cache_dir=str(cache)))
    options = quiet_options()
    for axis, size in model.axes.items():
        options.add_free_dimension_override_by_name(axis, size)
    options.add_provider_for_devices([provider.device()], large_card)
    session = onnxruntime.InferenceSession(model.path, options)
    assert taken(session, CPU) == []
    reference = load_reference(model.references[axes_key(model.axes)])
    actual_outputs = session.run(list(reference.outputs), dict(reference.inputs))
    assert [
        disagreement(a, b) for a, b in zip(actual_outputs, reference.outputs.values(), strict=True)
    ] == [""] * len(actual_outputs)


EDGES = np.array(
    # Halfway between two neighbours and beside it, NaN of other bits, and beyond the largest.
    [0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF],
    np.uint32,
).view(np.float32)


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
@example(EDGES.tolist())
def test_bf16_agrees_with_an_independent_conversion(values: list[float]) -> None:
    array = np.array(values, np.float32)
    with np.errstate(all="ignore"):
        expected = array.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(round_bf16(array), expected, equal_nan=True)
    assert np.array_equal(
        round_bf16(EDGES), [1, 1.015625, 1, 1.0078125, np.nan, np.nan, np.inf], True
    )
