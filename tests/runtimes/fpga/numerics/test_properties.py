"""Random layers on the card against ONNX Runtime's CPU in float32.

The CPU is given operands that are rounded to bf16 beforehand, so that all that may differ
is one rounding of the output and the order of float32 additions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from runtimes.fpga.numerics.bf16 import round_bf16
from tests.runtimes.fpga.ort_sessions import card_session, cpu_session, disagreement, model, taken

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def rounded(proto: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array(round_bf16(array), tensor.name))
    return copy


def agree(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> None:
    """The card took every node, and is within one bf16 rounding of the CPU."""
    card = card_session(proto)
    assert len(taken(card)) == len(proto.graph.node)
    got = card.run(None, dict(feeds))
    try:
        expected = cpu_session(rounded(proto)).run(
            None, {name: round_bf16(array) for name, array in feeds.items()}
        )
    except Exception:
        reject()  # ONNX Runtime's CPU lacks some combinations of attributes
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.shape == theirs.shape
        room = np.abs(theirs) * 2**-8 + 1e-5 * np.abs(theirs).max(initial=0)
        assert (np.abs(ours - theirs) <= room).all()


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Space, kernel and the attributes that convolutions and pools share."""
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


@few
@given(windows(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), seeds, st.booleans())
def test_convolutions(
    window: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]],
    groups: int,
    channels: int,
    filters: int,
    seed: int,
    biased: bool,
) -> None:
    space, size, attributes = window
    x = random(seed, 2, groups * channels, *space)
    held = {"w": random(seed + 1, groups * filters, channels, *size)}
    held |= {"b": random(seed + 2, groups * filters)} if biased else {}
    node = helper.make_node("Conv", ["x", *held], ["y"], group=groups, **attributes)
    agree(model([node], {"x": x.shape}, {"y": None}, held), {"x": x})


@few
@given(windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), seeds, st.data())
def test_transposed_convolutions(
    window: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]],
    groups: int,
    channels: int,
    filters: int,
    seed: int,
    data: st.DataObject,
) -> None:
    space, size, attributes = window
    # SAME has meant different things over the years where the stride exceeds the kernel.
    assume(not attributes.get("auto_pad", "").startswith("SAME"))
    limits = zip(attributes["strides"], attributes["dilations"], strict=True)
    extra = [data.draw(st.integers(0, max(s, d) - 1)) for s, d in limits]
    assume(all(e < s for e, s in zip(extra, attributes["strides"], strict=True)))
    x = random(seed, 2, groups * channels, *space)
    held = {"w": random(seed + 1, groups * channels, filters, *size)}
    node = helper.make_node(
        "ConvTranspose", ["x", "w"], ["y"], group=groups, output_padding=extra, **attributes
    )
    agree(model([node], {"x": x.shape}, {"y": None}, held), {"x": x})


@few
@given(windows(), st.sampled_from(["MaxPool", "AveragePool", "LpPool"]), seeds, st.data())
def test_pools(
    window: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]],
    op: str,
    seed: int,
    data: st.DataObject,
) -> None:
    space, size, attributes = window
    if attributes.get("auto_pad", "").startswith("SAME"):
        # For pools, ONNX Runtime's CPU forgets the dilation here, and pads by less than
        # nothing where the stride is larger than the kernel.
        assume(max(attributes["dilations"]) == 1)
        assume(all(s <= n for s, n in zip(attributes["strides"], size, strict=True)))
    if op == "AveragePool":
        attributes["count_include_pad"] = data.draw(st.integers(0, 1))
    if op != "LpPool" and "pads" in attributes:
        attributes["ceil_mode"] = data.draw(st.integers(0, 1))
    x = random(seed, 2, 3, *space)
    proto = model([helper.make_node(op, ["x"], ["y"], **attributes)], {"x": x.shape}, {"y": None})
    if attributes.get("ceil_mode") and _begins_behind_the_input(space, size, attributes):
        # Such a window sees padding alone; opsets differ on whether it exists.
        assert taken(card_session(proto)) == []
    else:
        agree(proto, {"x": x})


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


@few
@given(
    st.lists(st.integers(1, 3), max_size=2),
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    st.booleans(),
    seeds,
)
def test_matrix_products(
    lead: list[int], sizes: tuple[int, int, int], held: bool, seed: int
) -> None:
    m, k, n = sizes
    a, b = random(seed, *lead, m, k), random(seed + 1, k, n)
    shapes: dict[str, tuple[int, ...]] = {"a": a.shape} | ({} if held else {"b": b.shape})
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    proto = model([node], shapes, {"y": None}, {"b": b} if held else {})
    agree(proto, {"a": a} | ({} if held else {"b": b}))


@few
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([None, (), (1,), ("n",), ("m", 1), ("m", "n")]),
    st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)),
    seeds,
)
def test_gemm(
    sizes: tuple[int, int, int],
    transposed: tuple[bool, bool],
    bias: tuple[int | str, ...] | None,
    factors: tuple[float, float],
    seed: int,
) -> None:
    m, k, n = sizes
    a = random(seed, *((k, m) if transposed[0] else (m, k)))
    held = {"b": random(seed + 1, *((n, k) if transposed[1] else (k, n)))}
    if bias is not None:
        named = {"m": m, "n": n}
        held["c"] = random(seed + 2, *(named.get(str(s), 1) for s in bias))
    node = helper.make_node(
        "Gemm",
        ["a", *held],
        ["y"],
        transA=int(transposed[0]),
        transB=int(transposed[1]),
        alpha=factors[0],
        beta=factors[1],
    )
    agree(model([node], {"a": a.shape}, {"y": [m, n]}, held), {"a": a})


shapes4 = st.lists(st.integers(1, 6), min_size=2, max_size=4)
REDUCTIONS = (
    *("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1"),
    *("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)


@few
@given(st.sampled_from(REDUCTIONS), shapes4, st.integers(0, 1), seeds, st.data())
def test_reductions(
    op: str, shape: list[int], keepdims: int, seed: int, data: st.DataObject
) -> None:
    axes = data.draw(st.sets(st.integers(-len(shape), -1)))
    # A positive sum has a logarithm and does not cancel.
    x = np.abs(random(seed, *shape)) + 0.25
    old = op != "ReduceSum" and data.draw(st.booleans())
    attributes: dict[str, Any] = {"keepdims": keepdims}
    held = {}
    if axes and old:
        attributes["axes"] = sorted(axes)
    elif axes:
        held["axes"] = np.array(sorted(axes))
    node = helper.make_node(op, ["x", *held], ["y"], **attributes)
    agree(model([node], {"x": shape}, {"y": None}, held, opset=13 if old else 20), {"x": x})


@few
@given(
    st.sampled_from(["Softmax", "LogSoftmax"]), shapes4, st.sampled_from([11, 20]), seeds, st.data()
)
def test_softmax_of_both_meanings(
    op: str, shape: list[int], opset: int, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    node = helper.make_node(op, ["x"], ["y"], axis=axis)
    x = random(seed, *shape)
    agree(model([node], {"x": shape}, {"y": shape}, opset=opset), {"x": x})


@few
@given(shapes4, seeds, st.data())
def test_movement(shape: list[int], seed: int, data: st.DataObject) -> None:
    x = random(seed, *shape)
    rank = len(shape)
    start = [data.draw(st.integers(-8, 8)) for _ in shape]
    end = [data.draw(st.integers(-8, 8)) for _ in shape]
    step = [data.draw(st.sampled_from([-2, -1, 1, 2])) for _ in shape]
    pads = [data.draw(st.integers(0, n - 1)) for n in (*shape, *shape)]
    mode = data.draw(st.sampled_from(["constant", "reflect", "edge"]))
    held = {
        "pads": np.array(pads),
        "start": np.array(start),
        "end": np.array(end),
        "axes": np.arange(rank),
        "step": np.array(step),
    }
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"], mode=mode),
        helper.make_node("Slice", ["p", "start", "end", "axes", "step"], ["s"]),
        helper.make_node("Concat", ["s", "s"], ["c"], axis=data.draw(st.integers(0, rank - 1))),
        helper.make_node("Transpose", ["c"], ["y"], perm=data.draw(st.permutations(range(rank)))),
    ]
    agree(model(nodes, {"x": shape}, {"y": None}, held), {"x": x})


@few
@given(
    st.sampled_from(["LSTM", "GRU"]),
    st.sampled_from(["forward", "bidirectional"]),
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    seeds,
)
def test_recurrent_layers_follow_torch(
    kind: str, direction: str, sizes: tuple[int, int, int, int], seed: int
) -> None:
    steps, batch, inputs, hidden = sizes
    both = direction == "bidirectional"
    torch.manual_seed(seed)
    layer = getattr(torch.nn, kind)(inputs, hidden, bidirectional=both)
    for parameter in layer.parameters():
        parameter.data = torch.from_numpy(round_bf16(parameter.detach().numpy()))
    order = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}[kind]  # torch's gates in ONNX's order

    def stacked(name: str) -> np.ndarray:
        names = [name, f"{name}_reverse"][: 1 + both]
        return np.stack([reordered(getattr(layer, n).detach().numpy()) for n in names])

    def reordered(array: np.ndarray) -> np.ndarray:
        return np.concatenate([np.split(array, len(order))[gate] for gate in order])

    held = {
        "w": stacked("weight_ih_l0"),
        "r": stacked("weight_hh_l0"),
        "b": np.concatenate([stacked("bias_ih_l0"), stacked("bias_hh_l0")], axis=1),
    }
    extra: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    node = helper.make_node(
        kind, ["x", *held], ["y"], hidden_size=hidden, direction=direction, **extra
    )
    x = round_bf16(random(seed, steps, batch, inputs))
    session = card_session(model([node], {"x": x.shape}, {"y": None}, held))
    assert taken(session) == [kind]
    (got,) = session.run(None, {"x": x})
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = layer(torch.from_numpy(x))[0].numpy()
    expected = expected.reshape(steps, batch, 1 + both, hidden).transpose(0, 2, 1, 3)
    assert not disagreement(got, expected)


RANDOM_INPUT: dict[str, dict[str, Any]] = {
    "Celu": {"alpha": 1.5},
    "Elu": {"alpha": 0.5},
    "Selu": {},
    "GlobalLpPool": {"p": 3},
    "DepthToSpace": {"blocksize": 2, "mode": "CRD"},
    "SpaceToDepth": {"blocksize": 2},
    "Mish": {},
    "HardSwish": {},
    "Gelu": {},
    "LRN": {"size": 3},
    "MeanVarianceNormalization": {},
}


@few
@given(st.sampled_from(sorted(RANDOM_INPUT)), seeds)
def test_operators_of_one_input(op: str, seed: int) -> None:
    x = random(seed, 2, 4, 6, 4)
    node = helper.make_node(op, ["x"], ["y"], **RANDOM_INPUT[op])
    agree(model([node], {"x": x.shape}, {"y": None}), {"x": x})


@few
@given(
    st.sampled_from(["BatchNormalization", "InstanceNormalization", "LayerNormalization"]),
    st.integers(1, 8),
    seeds,
)
def test_normalisations(op: str, channels: int, seed: int) -> None:
    x = random(seed, 2, channels, 5, 8)
    size = 8 if op == "LayerNormalization" else channels
    held = {"scale": random(seed + 1, size), "bias": random(seed + 2, size)}
    if op == "BatchNormalization":
        held |= {"mean": random(seed + 3, size), "var": np.abs(random(seed + 4, size)) + 0.1}
    node = helper.make_node(op, ["x", *held], ["y"])
    agree(model([node], {"x": x.shape}, {"y": x.shape}, held), {"x": x})
