"""Pools over windows and over all space axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator
from runtimes.fpga.numerics.window import Window, window_of


def _window(call: Call) -> Window:
    size = call.integers("kernel_shape")
    if size is None:
        raise Refused("it has no kernel_shape")
    window = window_of(call, size)
    mode = call.text("auto_pad", "NOTSET")
    if mode.startswith("SAME") and any(step > 1 for step in window.dilation):
        raise Refused(f"its dilations have two meanings with auto_pad {mode}")
    if mode.startswith("SAME") and call.integer("ceil_mode", 0):
        raise Refused(f"its ceil_mode has two meanings with auto_pad {mode}")
    starts = ((n - 1) * s for n, s in zip(window.output, window.stride, strict=True))
    inside = (n + b for n, b in zip(call.shape(0)[2:], window.begin, strict=True))
    if any(start >= end for start, end in zip(starts, inside, strict=True)):
        raise Refused("its last window begins behind the input")
    return window


@operator("MaxPool", exact=True)
def max_pool(call: Call) -> Kernel:
    if any(call.node.outputs[1:]):
        raise Refused("the card keeps no indices of maxima")
    window = _window(call)
    return lambda x: reduce(np.maximum, window.taps(window.pad(x, -np.inf)))


def _sum(window: Window, padded: np.ndarray) -> np.ndarray:
    taps = window.taps(padded)
    total = next(taps).astype(np.float32)
    for tap in taps:
        total += tap
    return total


@operator("AveragePool", oldest=7)
def average_pool(call: Call) -> Kernel:
    window = _window(call)
    space = call.shape(0)[2:]
    counted = np.ones(space, np.float32)
    if call.integer("count_include_pad", 0):
        # What ceil_mode adds behind the declared padding never counts.
        declared = (call.integers("pads") or (0,) * 2 * len(space))[len(space) :]
        if call.text("auto_pad", "NOTSET") != "NOTSET":
            declared = window.end
        counted = np.pad(counted, tuple(zip(window.begin, declared, strict=True)), mode="edge")
        beyond = [(0, e - d) for e, d in zip(window.end, declared, strict=True)]
        counted = np.pad(counted, beyond)
    else:
        counted = window.pad(counted, 0.0)
    count = _sum(window, counted)
    return lambda x: _sum(window, window.pad(x, 0.0)) / count


@operator("LpPool", oldest=2)
def lp_pool(call: Call) -> Kernel:
    window = _window(call)
    p = call.integer("p", 2)
    return lambda x: _root(_sum(window, _power(window.pad(x, 0.0), p)), p)


def _power(x: np.ndarray, p: int) -> np.ndarray:
    return x * x if p == 2 else np.abs(x) ** p


def _root(x: np.ndarray, p: int) -> np.ndarray:
    return np.sqrt(x) if p == 2 else x ** (1.0 / p)


def _over_space(
    call: Call, function: Callable[[np.ndarray, tuple[int, ...]], np.ndarray]
) -> Kernel:
    axes = tuple(range(2, len(call.shape(0))))
    if not axes:
        raise Refused("it has no space axes")
    return lambda x: function(x, axes)


@operator("GlobalMaxPool", exact=True)
def global_max_pool(call: Call) -> Kernel:
    return _over_space(call, lambda x, axes: x.max(axis=axes, keepdims=True))


@operator("GlobalAveragePool")
def global_average_pool(call: Call) -> Kernel:
    return _over_space(call, lambda x, axes: x.mean(axis=axes, keepdims=True))


@operator("GlobalLpPool", oldest=2)
def global_lp_pool(call: Call) -> Kernel:
    p = call.integer("p", 2)
    return _over_space(call, lambda x, axes: _root(_power(x, p).sum(axis=axes, keepdims=True), p))
