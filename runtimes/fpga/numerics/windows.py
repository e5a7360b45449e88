"""Kernels over sliding windows: convolutions of one to three space axes, transposed ones, and
pools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import gt
from types import EllipsisType

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator


@dataclass(frozen=True, slots=True)
class Window:
    """A kernel's geometry, one entry per space axis; `end` includes what ceil_mode adds."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def padded(self) -> bool:
        return any(self.begin) or any(self.end)

    def pad(self, values: np.ndarray, fill: float) -> np.ndarray:
        """`values` [..., *space] with the window's padding around the space axes."""
        if not self.padded:
            return values
        leading = ((0, 0),) * (values.ndim - len(self.size))
        amounts = (*leading, *zip(self.begin, self.end, strict=True))
        return np.pad(values, amounts, constant_values=fill)

    def taps(self, padded_input: np.ndarray) -> Iterator[np.ndarray]:
        """For each position in the kernel, the view [..., *output] that it multiplies."""
        for position in product(*(range(size) for size in self.size)):
            yield padded_input[self.slices(position)]

    def slices(self, position: tuple[int, ...]) -> tuple[EllipsisType | slice, ...]:
        """Where, in padded input, one position of the kernel falls for every output."""
        starts = (index * dilation for index, dilation in zip(position, self.dilation, strict=True))
        return (
            ...,
            *(
                # Of no output the end would lie before the start, and a negative end counts from
                # the other side.
                slice(start, start + (count - 1) * stride + 1 if count else start, stride)
                for start, stride, count in zip(starts, self.stride, self.output, strict=True)
            ),
        )


def window_of(call: Call, size: tuple[int, ...]) -> Window:
    """The window of a convolution or pool whose kernel has `size`, by its attributes.

    The output's size is the graph's own, so that ceil_mode needs no second formula.
    """
    space = call.shape(0)[2:]
    if not space or len(space) != len(size):
        raise Refused(f"its kernel has {len(size)} axes, its input {len(space)}")
    unit_shape = (1,) * len(size)
    stride = call.integers("strides") or unit_shape
    dilation = call.integers("dilations") or unit_shape
    output = call.output_shapes[0][2:]
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    span = tuple((o - 1) * s + r for o, s, r in zip(output, stride, reach, strict=True))
    begin, end = _padding(call, space, stride, span)
    first, last_ends = (
        tuple(needed_size - n - b for needed_size, n, b in zip(needs, space, begin, strict=True))
        for needs in (reach, span)
    )
    # With ceil_mode the shapes of ONNX's inference and of its CPU kernels differ where not even
    # the first window fits.
    if any(map(gt, first if call.integer("ceil_mode", 0) else last_ends, end)):
        raise Refused("its window is larger than its padded input")
    # ceil_mode may let the last window reach past the padding.
    end = tuple(map(max, end, last_ends))
    return Window(size, stride, dilation, begin, end, output)


def _padding(
    call: Call, space: tuple[int, ...], stride: tuple[int, ...], span: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    mode = call.text("auto_pad", "NOTSET")
    zeros = (0,) * len(space)
    if mode == "VALID":
        return zeros, zeros
    if mode == "NOTSET":
        pads = call.integers("pads") or zeros * 2
        if min(pads) < 0:
            raise Refused("it has negative padding")
        return pads[: len(space)], pads[len(space) :]
    total = tuple(max(needed_size - n, 0) for needed_size, n in zip(span, space, strict=True))
    less = tuple(t // 2 for t in total)
    more = tuple(t - t // 2 for t in total)
    return (less, more) if mode == "SAME_UPPER" else (more, less)


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
        padded_input = window.pad(x, 0.0)
        y = np.empty((len(x), groups, weights[0] // groups, prod(window.output)), np.float32)
        # One image at a time: the unfolded columns are prod(kernel) times its size.
        for image, result in zip(padded_input, y, strict=True):
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
    columns = views[(slice(None), *steps, *taps)]
    order = (0, *range(axes + 1, 2 * axes + 1), *range(1, axes + 1))
    return columns.transpose(order).reshape(groups, -1, prod(window.output))


@operator("ConvTranspose")
def conv_transpose(call: Call) -> Kernel:
    """X [N,C,*space], W [C,M/groups,*kernel], B [M] -> Y [N,M,*output]."""
    groups = call.integer("group", 1)
    space, weights = call.shape(0)[2:], call.shape(1)
    size, output_shape = weights[2:], call.output_shapes[0]
    unit_shape = (1,) * len(size)
    stride = call.integers("strides") or unit_shape
    dilation = call.integers("dilations") or unit_shape
    span = tuple(
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(space, stride, size, dilation, strict=True)
    )
    begin = _transposed_begin(call, span)
    if min(begin) < 0:
        raise Refused("its output is larger than what its input reaches")
    room = tuple(max(full, b + n) for full, b, n in zip(span, begin, output_shape[2:], strict=True))
    output_slices: tuple[EllipsisType | slice, ...] = (
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
                    slice(index * d, index * d + (n - 1) * s + 1, s)
                    for index, d, n, s in zip(position, dilation, space, stride, strict=True)
                ),
            )
            full[target] += columns[(slice(None), slice(None), *position)]
        y = full[output_slices]
        return y if b is None else y + b.reshape(-1, *unit_shape)

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
    inner_ends = (n + b for n, b in zip(call.shape(0)[2:], window.begin, strict=True))
    if any(start >= end for start, end in zip(starts, inner_ends, strict=True)):
        raise Refused("its last window begins behind the input")
    return window


@operator("MaxPool", exact=True)
def max_pool(call: Call) -> Kernel:
    if any(call.node.outputs[1:]):
        raise Refused("the card keeps no indices of maxima")
    window = _window(call)
    return lambda x: reduce(np.maximum, window.taps(window.pad(x, -np.inf)))


def _sum(window: Window, padded_input: np.ndarray) -> np.ndarray:
    taps = window.taps(padded_input)
    total = next(taps).astype(np.float32)
    for tap in taps:
        total += tap
    return total


@operator("AveragePool", oldest=7)
def average_pool(call: Call) -> Kernel:
    window = _window(call)
    space = call.shape(0)[2:]
    counted_cells = np.ones(space, np.float32)
    if call.integer("count_include_pad", 0):
        # What ceil_mode adds behind the declared padding never counts.
        declared_end = (call.integers("pads") or (0,) * 2 * len(space))[len(space) :]
        if call.text("auto_pad", "NOTSET") != "NOTSET":
            declared_end = window.end
        counted_cells = np.pad(
            counted_cells, tuple(zip(window.begin, declared_end, strict=True)), mode="edge"
        )
        extra_pads = [(0, e - d) for e, d in zip(window.end, declared_end, strict=True)]
        counted_cells = np.pad(counted_cells, extra_pads)
    else:
        counted_cells = window.pad(counted_cells, 0.0)
    count = _sum(window, counted_cells)
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
