"""Draws of operators that put many values together: windows, products, reductions, norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.differential_lowered.draw import Dice, Draw, node_draw

FLOAT = TensorProto.FLOAT

REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin"),
)


def _window(dice: Dice, kernel: tuple[int, ...], pool: bool) -> dict[str, Any]:
    """Strides, dilations and padding of any form for a kernel."""
    axes = len(kernel)
    attributes: dict[str, Any] = {}
    if dice.chance(0.6):
        attributes["strides"] = [dice.integer(1, 3) for _ in range(axes)]
    if dice.chance(0.4):
        attributes["dilations"] = [dice.integer(1, 3) for _ in range(axes)]
    mode = dice.pick(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if mode != "NOTSET" or dice.chance(0.3):
        attributes["auto_pad"] = mode
    if mode == "NOTSET" and dice.chance(0.6):
        limits = [k - 1 if pool else k for k in kernel] * 2
        attributes["pads"] = [dice.integer(0, max(limit, 0)) for limit in limits]
    return attributes


def _space(dice: Dice, axes: int, largest: int = 9) -> tuple[int, ...]:
    return tuple(dice.integer(1, largest) for _ in range(axes))


def conv(dice: Dice) -> Draw:
    axes = dice.integer(1, 3)
    kernel = tuple(dice.integer(1, 3) for _ in range(axes))
    groups, inner, outer = dice.integer(1, 3), dice.integer(1, 3), dice.integer(1, 3)
    batch = 0 if dice.chance(0.03) else dice.integer(1, 3)
    x = dice.floats(batch, groups * inner, *_space(dice, axes, 9 if axes < 3 else 5))
    w = dice.floats(groups * outer, inner, *kernel)
    b = dice.floats(groups * outer) if dice.chance(0.5) else None
    attributes = _window(dice, kernel, pool=False)
    if dice.chance(0.6):
        attributes["kernel_shape"] = kernel
    if groups > 1 or dice.chance(0.3):
        attributes["group"] = groups
    return node_draw(dice, "Conv", dice.opset("Conv"), [x, w, b], attributes, parameters=[1, 2])


def conv_transpose(dice: Dice) -> Draw:
    axes = dice.integer(1, 3)
    kernel = tuple(dice.integer(1, 3) for _ in range(axes))
    groups, inner, outer = dice.integer(1, 3), dice.integer(1, 3), dice.integer(1, 3)
    space = _space(dice, axes, 5 if axes < 3 else 3)
    x = dice.floats(dice.integer(1, 2), groups * inner, *space)
    w = dice.floats(groups * inner, outer, *kernel)
    b = dice.floats(groups * outer) if dice.chance(0.5) else None
    attributes = _window(dice, kernel, pool=False)
    strides = attributes.get("strides", [1] * axes)
    if dice.chance(0.4):
        attributes["output_padding"] = [dice.integer(0, max(s - 1, 0)) for s in strides]
    if dice.chance(0.2):
        attributes["output_shape"] = [
            n * s + dice.integer(-1, 2) for n, s in zip(space, strides, strict=True)
        ]
        if dice.chance(0.5):
            attributes.pop("pads", None)
    if dice.chance(0.6):
        attributes["kernel_shape"] = kernel
    if groups > 1 or dice.chance(0.3):
        attributes["group"] = groups
    opset = dice.opset("ConvTranspose")
    return node_draw(dice, "ConvTranspose", opset, [x, w, b], attributes, parameters=[1, 2])


def pool(op: str, dice: Dice) -> Draw:
    opset = dice.opset(op)
    axes = dice.integer(1, 3)
    kernel = tuple(dice.integer(1, 3) for _ in range(axes))
    x = dice.floats(dice.integer(1, 2), dice.integer(1, 3), *_space(dice, axes))
    attributes = {"kernel_shape": kernel, **_window(dice, kernel, pool=True)}
    first_dilated = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if opset < first_dilated:
        attributes.pop("dilations", None)
    if opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] and dice.chance(0.4):
        attributes["ceil_mode"] = dice.integer(0, 1)
    if op == "AveragePool" and dice.chance(0.5):
        attributes["count_include_pad"] = dice.integer(0, 1)
    if op == "LpPool" and dice.chance(0.7):
        attributes["p"] = dice.integer(1, 4)
    outputs = [FLOAT]
    if op == "MaxPool" and opset >= 8 and dice.chance(0.15):
        outputs = [FLOAT, TensorProto.INT64]
    return node_draw(dice, op, opset, [x], attributes, outputs)


def global_pool(op: str, dice: Dice) -> Draw:
    x = dice.floats(*dice.shape(2, 5, 4))
    attributes = {"p": dice.integer(1, 4)} if op == "GlobalLpPool" and dice.chance(0.7) else {}
    return node_draw(dice, op, dice.opset(op), [x], attributes)


def matmul(dice: Dice) -> Draw:
    k = dice.integer(1, 6)
    stack = dice.shape(0, 2, 3)
    a = dice.floats(*dice.broadcast(stack), dice.integer(1, 5), k)
    b = dice.floats(*stack, k, dice.integer(1, 5))
    if dice.chance(0.2):
        a = dice.floats(k)
    elif dice.chance(0.2):
        b = dice.floats(k)
    if dice.chance(0.03):
        a, b = dice.floats(2, 0), dice.floats(0, 3)
    return node_draw(dice, "MatMul", dice.opset("MatMul"), [a, b])


def gemm(dice: Dice) -> Draw:
    m, k, n = (dice.integer(1, 5) for _ in range(3))
    if dice.chance(0.04):
        m, k, n = dice.pick([(0, 2, 3), (2, 0, 3), (2, 3, 0)])
    turn_a, turn_b = (dice.pick([None, 0, 1]) for _ in range(2))
    a = dice.floats(*((k, m) if turn_a else (m, k)))
    b = dice.floats(*((n, k) if turn_b else (k, n)))
    opset = dice.opset("Gemm")
    c = dice.floats(*dice.broadcast((m, n)))
    attributes: dict[str, Any] = {"transA": turn_a, "transB": turn_b}
    attributes |= {name: dice.pick([None, 0.5, 0.0, -2.0]) for name in ("alpha", "beta")}
    keeps = opset < 11 or dice.chance(0.7)
    return node_draw(dice, "Gemm", opset, [a, b, c if keeps else None], attributes)


def reduction(op: str, dice: Dice) -> Draw:
    opset = dice.opset(op)
    x = dice.floats(*dice.shape())
    kind = FLOAT
    if op in ("ReduceMax", "ReduceMin") and opset >= 20 and dice.chance(0.3):
        x, kind = np.asarray(x > 0), TensorProto.BOOL
    if op in ("ReduceLogSum",):
        x = np.abs(x) + np.float32(0.1)
    axes = dice.axes(x.ndim) if dice.chance(0.8) else None
    if opset < 11 and axes is not None:
        axes = [a % x.ndim for a in axes]
    attributes: dict[str, Any] = {"keepdims": dice.pick([None, 0, 1])}
    first = 13 if op == "ReduceSum" else 18
    if opset < first:
        attributes["axes"] = axes or None
        return node_draw(dice, op, opset, [x], attributes, [kind])
    if dice.chance(0.4):
        attributes["noop_with_empty_axes"] = dice.integer(0, 1)
    axes_array = None if axes is None else np.asarray(axes, np.int64)
    return node_draw(dice, op, opset, [x, axes_array], attributes, [kind], parameters=[1])


def softmax(op: str, dice: Dice) -> Draw:
    opset = dice.opset(op)
    x = dice.floats(*dice.shape(0 if dice.chance(0.1) else 1)) * np.float32(dice.pick([1, 10]))
    if op == "Hardmax":
        x = np.nan_to_num(x, nan=0.5, posinf=np.inf, neginf=-np.inf)
    axis = dice.axis(x.ndim) if x.ndim and dice.chance(0.8) else None
    if opset < 11 and axis is not None:
        axis %= x.ndim
        axis = x.ndim if dice.chance(0.05) else axis
    return node_draw(dice, op, opset, [x], {"axis": axis})


def batch_normalization(dice: Dice) -> Draw:
    dice.special = False
    opset = dice.opset("BatchNormalization")
    x = dice.floats(*dice.shape(2))
    channels = x.shape[1]
    values = [dice.floats(channels) for _ in range(3)]
    variance = np.abs(dice.floats(channels)) + np.float32(0.1)
    attributes = {"epsilon": dice.pick([None, 1e-3]), "momentum": dice.pick([None, 0.5])}
    inputs = [x, *values, variance]
    return node_draw(dice, "BatchNormalization", opset, inputs, attributes, parameters=[1, 2, 3, 4])


def layer_normalization(dice: Dice) -> Draw:
    dice.special = False
    x = dice.floats(*dice.shape(1))
    axis = dice.axis(x.ndim)
    shape = x.shape[axis % x.ndim :]
    scale = dice.floats(*(shape if dice.chance(0.7) else dice.broadcast(shape)))
    bias = dice.floats(*shape) if dice.chance(0.6) else None
    attributes: dict[str, Any] = {"axis": axis if axis != -1 or dice.chance(0.5) else None}
    attributes |= {"epsilon": dice.pick([None, 1e-3]), "stash_type": dice.pick([None, None, 1])}
    outputs = [FLOAT, FLOAT, FLOAT][: dice.pick([1, 1, 1, 2, 3])]
    opset = dice.opset("LayerNormalization")
    inputs = [x, scale, bias]
    return node_draw(dice, "LayerNormalization", opset, inputs, attributes, outputs, [1, 2])


def rms_normalization(dice: Dice) -> Draw:
    x = dice.floats(*dice.shape(1))
    axis = dice.axis(x.ndim)
    scale = dice.floats(*x.shape[axis % x.ndim :])
    attributes = {"axis": axis, "epsilon": dice.pick([None, 1e-3])}
    opset = dice.opset("RMSNormalization")
    return node_draw(dice, "RMSNormalization", opset, [x, scale], attributes, parameters=[1])


def instance_normalization(dice: Dice) -> Draw:
    dice.special = False
    # ONNX Runtime's kernel reads outside of an input without elements.
    x = dice.floats(*(max(size, 1) for size in dice.shape(3, 5, 4)))
    scale, bias = dice.floats(x.shape[1]), dice.floats(x.shape[1])
    attributes = {"epsilon": dice.pick([None, 1e-3])}
    opset = dice.opset("InstanceNormalization")
    return node_draw(
        dice, "InstanceNormalization", opset, [x, scale, bias], attributes, parameters=[1, 2]
    )


def group_normalization(dice: Dice) -> Draw:
    opset = dice.opset("GroupNormalization")
    groups, size = dice.integer(1, 3), dice.integer(1, 3)
    x = dice.floats(dice.integer(1, 3), groups * size, *dice.shape(1, 2, 4))
    count = groups if opset < 21 else groups * size
    attributes = {"num_groups": groups, "epsilon": dice.pick([None, 1e-3])}
    inputs = [x, dice.floats(count), dice.floats(count)]
    return node_draw(dice, "GroupNormalization", opset, inputs, attributes, parameters=[1, 2])


def mean_variance(dice: Dice) -> Draw:
    op = "MeanVarianceNormalization"
    x = dice.floats(*dice.shape(4, 4, 4))
    axes = sorted(dice.axes(4, 1), key=lambda a: a % 4) if dice.chance(0.7) else None
    return node_draw(dice, op, dice.opset(op), [x], {"axes": axes})


def lrn(dice: Dice) -> Draw:
    # ONNX Runtime subtracts what leaves its window, and an infinity never leaves.
    dice.special = False
    x = dice.floats(*dice.shape(3, 4, 6))
    attributes: dict[str, Any] = {"size": dice.integer(1, 5), "alpha": dice.pick([None, 0.5, 1e-3])}
    attributes |= {"beta": dice.pick([None, 0.5]), "bias": dice.pick([None, 2.0])}
    return node_draw(dice, "LRN", dice.opset("LRN"), [x], attributes)


def lp_normalization(dice: Dice) -> Draw:
    x = dice.floats(*dice.shape(1))
    attributes = {"axis": dice.axis(x.ndim), "p": dice.pick([None, 1, 2])}
    return node_draw(dice, "LpNormalization", dice.opset("LpNormalization"), [x], attributes)


_ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign")


def recurrent(op: str, dice: Dice) -> Draw:
    # ONNX Runtime's activations are approximations that bound what they are given.
    dice.special = False
    gates, names = (4, ("Sigmoid", "Tanh", "Tanh")) if op == "LSTM" else (3, ("Sigmoid", "Tanh"))
    opset = dice.opset(op)
    steps, batch, size, hidden_size = (dice.integer(1, 4) for _ in range(4))
    direction = dice.pick([None, "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    swap = opset >= 14 and dice.chance(0.15)

    def laid_out(array: np.ndarray) -> np.ndarray:
        return array.swapaxes(0, 1) if swap else array

    def state() -> np.ndarray | None:
        return laid_out(dice.floats(ways, batch, hidden_size)) if dice.chance(0.5) else None

    inputs: list[np.ndarray | None] = [
        laid_out(dice.floats(steps, batch, size)),
        dice.floats(ways, gates * hidden_size, size),
        dice.floats(ways, gates * hidden_size, hidden_size),
        dice.floats(ways, 2 * gates * hidden_size) if dice.chance(0.6) else None,
        np.full(batch, steps, np.int32) if dice.chance(0.15) else None,
        state(),
    ]
    if inputs[4] is not None and dice.chance(0.5):
        inputs[4] = np.asarray(dice.rng.integers(0, steps + 1, batch), np.int32)
    if op == "LSTM":
        inputs += [state(), dice.floats(ways, 3 * hidden_size) if dice.chance(0.3) else None]
    attributes: dict[str, Any] = {"hidden_size": hidden_size, "direction": direction}
    if dice.chance(0.3):
        attributes["activations"] = [
            dice.pick(_ACTIVATIONS[:3] if dice.chance(0.8) else _ACTIVATIONS)
            for _ in range(len(names) * ways)
        ]
    if dice.chance(0.15):
        attributes["clip"] = dice.pick([0.5, 1.0])
    if op == "LSTM" and dice.chance(0.15):
        attributes["input_forget"] = 1
    if op == "GRU" and dice.chance(0.5):
        attributes["linear_before_reset"] = dice.integer(0, 1)
    if swap:
        attributes["layout"] = 1
    outputs = [FLOAT if dice.chance(0.7) else 0 for _ in range(3 if op == "LSTM" else 2)]
    if not any(outputs):
        outputs[0] = FLOAT
    while not outputs[-1]:
        outputs.pop()
    node = node_draw(dice, op, opset, inputs, attributes, outputs, [1, 2, 3, 4, 7])
    return replace(node, roundings=2 * steps)


DRAWS: dict[str, Callable[[Dice], Draw]] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    **{op: partial(pool, op) for op in ("MaxPool", "AveragePool", "LpPool")},
    **{
        op: partial(global_pool, op)
        for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
    },
    "MatMul": matmul,
    "Gemm": gemm,
    **{op: partial(reduction, op) for op in REDUCTIONS},
    **{op: partial(softmax, op) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
    "InstanceNormalization": instance_normalization,
    "GroupNormalization": group_normalization,
    "MeanVarianceNormalization": mean_variance,
    "LRN": lrn,
    "LpNormalization": lp_normalization,
    **{op: partial(recurrent, op) for op in ("LSTM", "GRU")},
}
