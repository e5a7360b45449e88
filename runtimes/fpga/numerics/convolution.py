"""Convolutions of one to three space axes, grouped, strided and dilated, and transposed."""

from __future__ import annotations

from itertools import product
from math import prod
from types import EllipsisType

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator
from runtimes.fpga.numerics.window import Window, window_of


@operator("Conv")
def conv(call: Call) -> Kernel:
    """X [N,C,*space], W [M,C/groups,*kernel], B [M] -> Y [N,M,*output]."""
    groups = call.integer("group", 1)
    channels, weights = call.shape(0)[1], call.shape(1)
    if channels != weights[1] * groups or weights[0] % groups:
        raise Refused(f"{groups} groups of {weights[1]} channels do not make {channels}")
    window = window_of(call, weights[2:])
    output_shape = call.output_shapes[0]

    def run(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
        matrix = w.reshape(groups, weights[0] // groups, -1)
        padded = window.pad(x, 0.0)
        y = np.empty((len(x), groups, weights[0] // groups, prod(window.output)), np.float32)
        # One image at a time: the unfolded columns are prod(kernel) times its size.
        for image, result in zip(padded, y, strict=True):
            np.matmul(matrix, _columns(image, window, groups), out=result)
        y = y.reshape(output_shape)
        if b is not None:
            y += b.reshape(-1, *(1,) * len(window.size))
        return y

    return run


def _columns(image: np.ndarray, window: Window, groups: int) -> np.ndarray:
    """[C,*padded] -> [groups, C/groups * kernel positions, output positions]."""
    axes = len(window.size)
    reach = [(n - 1) * d + 1 for n, d in zip(window.size, window.dilation, strict=True)]
    views = sliding_window_view(image, reach, axis=tuple(range(1, axes + 1)))
    steps = tuple(
        slice(0, (count - 1) * stride + 1, stride)
        for count, stride in zip(window.output, window.stride, strict=True)
    )
    taps = tuple(slice(None, None, dilation) for dilation in window.dilation)
    chosen = views[(slice(None), *steps, *taps)]
    order = (0, *range(axes + 1, 2 * axes + 1), *range(1, axes + 1))
    return chosen.transpose(order).reshape(groups, -1, prod(window.output))


@operator("ConvTranspose")
def conv_transpose(call: Call) -> Kernel:
    """X [N,C,*space], W [C,M/groups,*kernel], B [M] -> Y [N,M,*output]."""
    groups = call.integer("group", 1)
    space, weights = call.shape(0)[2:], call.shape(1)
    size, output_shape = weights[2:], call.output_shapes[0]
    ones = (1,) * len(size)
    stride = call.integers("strides") or ones
    dilation = call.integers("dilations") or ones
    span = tuple(
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(space, stride, size, dilation, strict=True)
    )
    begin = _transposed_begin(call, span)
    if min(begin) < 0:
        raise Refused("its output is larger than what its input reaches")
    room = tuple(max(full, b + n) for full, b, n in zip(span, begin, output_shape[2:], strict=True))
    kept: tuple[EllipsisType | slice, ...] = (
        ...,
        *(slice(b, b + n) for b, n in zip(begin, output_shape[2:], strict=True)),
    )

    def run(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
        matrix = w.reshape(groups, weights[0] // groups, -1).transpose(0, 2, 1)
        columns = matrix @ x.reshape(len(x), groups, -1, prod(space))
        columns = columns.reshape(len(x), output_shape[1], *size, *space)
        full = np.zeros((len(x), output_shape[1], *room), np.float32)
        for position in product(*(range(n) for n in size)):
            target: tuple[EllipsisType | slice, ...] = (
                ...,
                *(
                    slice(at * d, at * d + (n - 1) * s + 1, s)
                    for at, d, n, s in zip(position, dilation, space, stride, strict=True)
                ),
            )
            full[target] += columns[(slice(None), slice(None), *position)]
        y = full[kept]
        return y if b is None else y + b.reshape(-1, *ones)

    return run


def _transposed_begin(call: Call, span: tuple[int, ...]) -> tuple[int, ...]:
    """How much is cut from the front of each space axis of the full output."""
    mode = call.text("auto_pad", "NOTSET")
    if mode == "NOTSET" and call.integers("output_shape") is None:
        return (call.integers("pads") or (0,) * 2 * len(span))[: len(span)]
    if mode == "VALID" and call.integers("output_shape") is None:
        return (0,) * len(span)
    extra = call.integers("output_padding") or (0,) * len(span)
    if mode.startswith("SAME") and any(extra):
        raise Refused(f"its output_padding has two meanings with auto_pad {mode}")
    total = [
        max(full + e - n, 0)
        for full, e, n in zip(span, extra, call.output_shapes[0][2:], strict=True)
    ]
    return tuple(t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total)
