"""Reductions over axes, accumulated in float32."""

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


_ROUNDED: dict[str, Reduction] = {
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
    chosen = axes
    return lambda x, _axes=None: np.reshape(reduction(x, chosen), shape)


def _enter(table: dict[str, Reduction], exact: bool) -> None:
    for name, reduction in table.items():
        operator(name, exact=exact)(partial(_make, reduction=reduction))


_enter(_ROUNDED, exact=False)
_enter(_EXACT, exact=True)
