"""Reductions, normalisations and the softmax family: statistics in float32, one rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator

Reduction = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


def _log_sum_exp(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    highest = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    # An infinite shift would turn the differences into NaN.
    highest = np.where(np.isfinite(highest), highest, np.float32(0))
    return np.log(np.exp(x - highest).sum(axis=axes, keepdims=True)) + highest


_ROUNDED_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": lambda x, axes: x.sum(axis=axes),
    "ReduceMean": lambda x, axes: x.mean(axis=axes),
    "ReduceProd": lambda x, axes: x.prod(axis=axes),
    "ReduceL1": lambda x, axes: np.abs(x).sum(axis=axes),
    "ReduceL2": lambda x, axes: np.sqrt(np.square(x).sum(axis=axes)),
    "ReduceSumSquare": lambda x, axes: np.square(x).sum(axis=axes),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axis=axes)),
    "ReduceLogSumExp": _log_sum_exp,
}
_EXACT: dict[str, Reduction] = {
    "ReduceMax": lambda x, axes: x.max(axis=axes, initial=-np.inf if x.dtype.kind == "f" else 0),
    "ReduceMin": lambda x, axes: x.min(axis=axes, initial=np.inf),
}


def _make(call: Call, reduction: Reduction) -> Kernel:
    if call.node.op == "ReduceMean" and 0 in call.shape(0):
        raise Refused("its input has no elements")
    axes = call.integers_or_input("axes", 1)
    if not axes:
        none = axes is not None or call.has(1) or call.since >= 13
        keeps_all = none and bool(call.integer("noop_with_empty_axes", 0))
        axes = () if keeps_all else tuple(range(len(call.shape(0))))
    shape = call.output_shapes[0]
    reduced_axes = axes
    return lambda x, _axes=None: np.reshape(reduction(x, reduced_axes), shape)


def _enter(table: dict[str, Reduction], exact: bool) -> None:
    for name, reduction in table.items():
        operator(name, exact=exact)(partial(_make, reduction=reduction))


_enter(_ROUNDED_REDUCTIONS, exact=False)
_enter(_EXACT, exact=True)


def _by_channel(values: np.ndarray, rank: int) -> np.ndarray:
    """[C] -> [C,1,...], to stand against [N,C,*space]."""
    return values.reshape(-1, *(1,) * (rank - 2))


@operator("BatchNormalization", oldest=7)
def batch_normalization(call: Call) -> Kernel:
    if call.integer("training_mode", 0) or any(call.node.outputs[1:]):
        raise Refused("it is in training mode")
    if not call.integer("spatial", 1):
        raise Refused("it has statistics per position")
    epsilon = call.number("epsilon", 1e-5)
    rank = len(call.shape(0))

    def run(
        x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, var: np.ndarray
    ) -> np.ndarray:
        slope = _by_channel(scale / np.sqrt(var + epsilon), rank)
        return (x - _by_channel(mean, rank)) * slope + _by_channel(bias, rank)

    return run


def _standardise(
    x: np.ndarray, axes: tuple[int, ...], epsilon: np.float32
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) / std over `axes`, the mean, and 1 / std, both with those axes as 1."""
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    inverse = 1 / np.sqrt(np.square(centred).mean(axis=axes, keepdims=True) + epsilon)
    return centred * inverse, mean, inverse


@operator("LayerNormalization")
def layer_normalization(call: Call) -> Kernel:
    if call.integer("stash_type", 1) != 1:
        raise Refused("its statistics are not in float32")
    axes = tuple(range(call.axis(-1), len(call.shape(0))))
    epsilon = call.number("epsilon", 1e-5)

    def run(
        x: np.ndarray, scale: np.ndarray, bias: np.ndarray | None = None
    ) -> tuple[np.ndarray, ...]:
        y, mean, inverse = _standardise(x, axes, epsilon)
        y *= scale
        return (y if bias is None else y + bias), mean, inverse

    return run


@operator("RMSNormalization")
def rms_normalization(call: Call) -> Kernel:
    if call.integer("stash_type", 1) != 1:
        raise Refused("its statistics are not in float32")
    axes = tuple(range(call.axis(-1), len(call.shape(0))))
    epsilon = call.number("epsilon", 1e-5)
    return lambda x, scale: (
        x / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + epsilon) * scale
    )


@operator("InstanceNormalization", oldest=6)
def instance_normalization(call: Call) -> Kernel:
    rank = len(call.shape(0))
    axes = tuple(range(2, rank))
    epsilon = call.number("epsilon", 1e-5)

    def run(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
        y = _standardise(x, axes, epsilon)[0]
        return y * _by_channel(scale, rank) + _by_channel(bias, rank)

    return run


@operator("GroupNormalization", oldest=18)
def group_normalization(call: Call) -> Kernel:
    """Scale and bias are per group up to opset 20, per channel from 21."""
    shape = call.shape(0)
    groups = call.integer("num_groups", 0)
    if not groups or shape[1] % groups or call.integer("stash_type", 1) != 1:
        raise Refused(f"its {shape[1]} channels do not make {groups} groups in float32")
    epsilon = call.number("epsilon", 1e-5)
    repeats = shape[1] // groups if call.since < 21 else 1

    def run(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
        y = _standardise(x.reshape(shape[0], groups, -1), (2,), epsilon)[0].reshape(shape)
        scale, bias = np.repeat(scale, repeats), np.repeat(bias, repeats)
        return y * _by_channel(scale, len(shape)) + _by_channel(bias, len(shape))

    return run


@operator("MeanVarianceNormalization")
def mean_variance_normalization(call: Call) -> Kernel:
    axes = call.integers("axes") or (0, 2, 3)

    def run(x: np.ndarray) -> np.ndarray:
        deviations = x - x.mean(axis=axes, keepdims=True)
        return deviations / (np.sqrt(np.square(deviations).mean(axis=axes, keepdims=True)) + 1e-9)

    return run


@operator("LRN")
def lrn(call: Call) -> Kernel:
    """Each value over a power of the squares summed across the channels around it."""
    size = call.integer("size", 1)
    span_before, span_after = (size - 1) // 2, size // 2
    scale = call.number("alpha", 1e-4) / np.float32(size)
    beta, bias = call.number("beta", 0.75), call.number("bias", 1.0)

    def run(x: np.ndarray) -> np.ndarray:
        margins = ((0, 0), (span_before, span_after), *((0, 0),) * (x.ndim - 2))
        squares = np.pad(np.square(x), margins)
        total = sum(squares[:, k : k + x.shape[1]] for k in range(size))
        return x / (bias + scale * total) ** beta

    return run


@operator("LpNormalization")
def lp_normalization(call: Call) -> Kernel:
    axis, p = call.axis(-1), call.integer("p", 2)

    def run(x: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm(x, ord=p, axis=axis, keepdims=True)
        return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)

    return run


def _rows(call: Call) -> tuple[tuple[int, ...], int]:
    """The shape to work in and its axis: up to opset 12 all axes from `axis` on are one."""
    shape = call.shape(0)
    if 0 in shape:
        raise Refused("its input has no elements")
    if call.since >= 13:
        return shape, call.axis(-1)
    axis = call.axis(1)
    return (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))), 1


@operator("Softmax")
def softmax(call: Call) -> Kernel:
    rows, axis = _rows(call)

    def run(x: np.ndarray) -> np.ndarray:
        powers = np.exp(_below_zero(x.reshape(rows), axis))
        return (powers / powers.sum(axis=axis, keepdims=True)).reshape(x.shape)

    return run


@operator("LogSoftmax")
def log_softmax(call: Call) -> Kernel:
    rows, axis = _rows(call)

    def run(x: np.ndarray) -> np.ndarray:
        shifted_rows = _below_zero(x.reshape(rows), axis)
        total = np.log(np.exp(shifted_rows).sum(axis=axis, keepdims=True))
        return (shifted_rows - total).reshape(x.shape)

    return run


def _below_zero(x: np.ndarray, axis: int) -> np.ndarray:
    return x - x.max(axis=axis, keepdims=True)


@operator("Hardmax", exact=True)
def hardmax(call: Call) -> Kernel:
    rows, axis = _rows(call)

    def run(x: np.ndarray) -> np.ndarray:
        y = np.zeros(rows, np.float32)
        first = np.expand_dims(x.reshape(rows).argmax(axis=axis), axis)
        np.put_along_axis(y, first, 1, axis)
        return y.reshape(x.shape)

    return run
