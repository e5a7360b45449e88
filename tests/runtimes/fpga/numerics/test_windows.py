"""Convolutions and pools on the card against ONNX Runtime's CPU, with drawn windows."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper

from runtimes.fpga.numerics import windows as geometry
from tests.runtimes.fpga.numerics.agreement import agree, agree_as_sums, few, random, seeds
from tests.runtimes.fpga.ort_sessions import card_session, model, taken

Window = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]
"""Space, kernel and the attributes that convolutions and pools share."""


@st.composite
def windows(draw: st.DrawFn) -> Window:
    axes = draw(st.integers(1, 3))
    size = tuple(draw(st.integers(1, 3)) for _ in range(axes))
    dilations = tuple(draw(st.integers(1, 2)) for _ in range(axes))
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilations, strict=True))
    space = tuple(draw(st.integers(r, r + 5)) for r in reach)
    attributes: dict[str, Any] = {
        "strides": [draw(st.integers(1, 3)) for _ in range(axes)],
        "dilations": list(dilations),
        "kernel_shape": list(size),
    }
    padding = draw(st.sampled_from(["pads", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if padding == "pads":
        attributes["pads"] = [draw(st.integers(0, n - 1)) for n in (*size, *size)]
    else:
        attributes["auto_pad"] = padding
    return space, size, attributes


@st.composite
def transposed_windows(draw: st.DrawFn) -> Window:
    space, size, attributes = draw(windows())
    # SAME has meant different things over the years where the stride exceeds the kernel.
    assume(not attributes.get("auto_pad", "").startswith("SAME"))
    limits = zip(attributes["strides"], attributes["dilations"], strict=True)
    extra = [draw(st.integers(0, max(s, d) - 1)) for s, d in limits]
    assume(all(e < s for e, s in zip(extra, attributes["strides"], strict=True)))
    return space, size, attributes | {"output_padding": extra}


@st.composite
def pools(draw: st.DrawFn) -> tuple[str, Window]:
    op = draw(st.sampled_from(["MaxPool", "AveragePool", "LpPool"]))
    space, size, attributes = draw(windows())
    if attributes.get("auto_pad", "").startswith("SAME"):
        # For pools, ONNX Runtime's CPU forgets the dilation here, and pads by less than
        # nothing where the stride is larger than the kernel.
        assume(max(attributes["dilations"]) == 1)
        assume(all(s <= n for s, n in zip(attributes["strides"], size, strict=True)))
    if op == "AveragePool":
        attributes["count_include_pad"] = draw(st.integers(0, 1))
    if op != "LpPool" and "pads" in attributes:
        attributes["ceil_mode"] = draw(st.integers(0, 1))
    return op, (space, size, attributes)


@few
@given(windows(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), seeds, st.booleans())
def test_a_convolution_is_within_one_rounding_of_the_cpu(
    window: Window, groups: int, channels: int, filters: int, seed: int, biased: bool
) -> None:
    space, size, attributes = window
    x = random(seed, 2, groups * channels, *space)
    weights = {"w": random(seed + 1, groups * filters, channels, *size)}
    weights |= {"b": random(seed + 2, groups * filters)} if biased else {}
    node = helper.make_node("Conv", ["x", *weights], ["y"], group=groups, **attributes)
    proto = model([node], {"x": x.shape}, {"y": None}, weights)
    agree_as_sums(proto, {"x": x}, channels * prod(size) + 1)


@few
@given(transposed_windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), seeds)
def test_a_transposed_convolution_is_within_one_rounding_of_the_cpu(
    window: Window, groups: int, channels: int, filters: int, seed: int
) -> None:
    space, size, attributes = window
    x = random(seed, 2, groups * channels, *space)
    weights = {"w": random(seed + 1, groups * channels, filters, *size)}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=groups, **attributes)
    proto = model([node], {"x": x.shape}, {"y": None}, weights)
    agree_as_sums(proto, {"x": x}, channels * prod(size))


@few
@given(pools(), seeds)
def test_a_pool_is_within_one_rounding_of_the_cpu(pool: tuple[str, Window], seed: int) -> None:
    op, (space, size, attributes) = pool
    x = random(seed, 2, 3, *space)
    proto = model([helper.make_node(op, ["x"], ["y"], **attributes)], {"x": x.shape}, {"y": None})
    if attributes.get("ceil_mode") and _begins_behind_the_input(space, size, attributes):
        # Such a window sees padding alone; opsets differ on whether it exists.
        assert taken(card_session(proto)) == []
    elif op == "AveragePool":
        agree_as_sums(proto, {"x": x}, prod(size))
    else:
        # The largest value needs no rounding; a sum of powers does not cancel.
        agree(proto, {"x": x}, 2 * prod(size))


def _begins_behind_the_input(
    space: tuple[int, ...], size: tuple[int, ...], attributes: Mapping[str, Any]
) -> bool:
    pads = attributes["pads"]
    for axis, (n, k) in enumerate(zip(space, size, strict=True)):
        stride, reach = attributes["strides"][axis], (k - 1) * attributes["dilations"][axis] + 1
        begin, end = pads[axis], pads[len(space) + axis]
        count = -(-(n + begin + end - reach) // stride) + 1
        if (count - 1) * stride >= n + begin:
            return True
    return False


def test_a_window_that_fits_nowhere_takes_nothing() -> None:
    window = geometry.Window(
        size=(3,), stride=(2,), dilation=(2,), begin=(1,), end=(0,), output=(0,)
    )
    padded_array = window.pad(np.ones((1, 2), np.float32), 0.0)
    assert [tap.shape for tap in window.taps(padded_array)] == [(1, 0)] * 3


@pytest.mark.parametrize(("size", "kernel", "is_taken"), [(2, 3, False), (3, 3, True)])
def test_a_window_larger_than_its_input_is_left_to_the_cpu(
    size: int, kernel: int, is_taken: bool
) -> None:
    """With ceil_mode ONNX's inference gives one output of a window that does not fit."""
    attributes: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "strides": [1]}
    node = helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[kernel], **attributes)
    session = card_session(model([node], {"x": (1, 1, size)}, {"y": None}, opset=22))
    assert taken(session) == ["LpPool"] * is_taken
