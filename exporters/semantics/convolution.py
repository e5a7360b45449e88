"""Convolutions and pooling over windows, by the shapes and counts of ONNX's definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor, prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_roi_align import RoiAlign as _OnnxRoiAlign

Ints = Sequence[int]
_IMAGES = 4
"""The rank of a batch of images."""


@dataclass(frozen=True, slots=True)
class _Scatter:
    """Where the elements of windows lie along each spatial axis of the image they are added to."""

    counts: Ints
    kernel: Ints
    strides: Ints
    dilations: Ints

    @property
    def reach(self) -> list[int]:
        """The sizes that all windows together cover."""
        return [
            max(0, count - 1) * stride + (size - 1) * dilation + 1
            for count, size, stride, dilation in zip(
                self.counts, self.kernel, self.strides, self.dilations, strict=True
            )
        ]

    def places(self, tap: Ints) -> tuple[slice, ...]:
        """Where one element of the kernel lies in all windows."""
        return tuple(
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(
                tap, self.dilations, self.counts, self.strides, strict=True
            )
        )

    def taps(self) -> product[tuple[int, ...]]:
        return product(*map(range, self.kernel))


class ConvTranspose(OpRun):
    """The gradient of Conv; onnx's is wrong for groups with a bias, and for SAME_* with strides.

    SAME_* never adds elements: where the windows cover less than input times stride, all of them
    is the output, as in the engines.
    """

    def _run(
        self,
        x: np.ndarray,
        w: np.ndarray,
        bias: np.ndarray | None = None,
        auto_pad: str | None = None,
        dilations: Ints | None = None,
        group: int | None = None,
        kernel_shape: Ints | None = None,
        output_padding: Ints | None = None,
        output_shape: Ints | None = None,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[np.ndarray, ...]:
        sizes, kernel = x.shape[2:], w.shape[2:]
        unit_sizes = [1] * len(sizes)
        windows = _Scatter(sizes, kernel, strides or unit_sizes, dilations or unit_sizes)
        more = output_padding or [0] * len(sizes)
        full = [reach + extra for reach, extra in zip(windows.reach, more, strict=True)]
        starts, lengths = _cut(full, sizes, windows.strides, auto_pad, pads, output_shape)

        groups = group or 1
        split = x.reshape(x.shape[0], groups, w.shape[0] // groups, -1).astype(np.float64)
        weights: Any = w.reshape(groups, -1, *w.shape[1:]).astype(np.float64)
        room = [max(f, s + n) for f, s, n in zip(full, starts, lengths, strict=True)]
        image: Any = np.zeros((x.shape[0], groups, w.shape[1], *room))
        if x.size:
            for tap in windows.taps():
                block = np.matmul(weights[(..., *tap)].swapaxes(1, 2), split)
                image[(..., *windows.places(tap))] += block.reshape(*block.shape[:3], *sizes)
        cut = tuple(slice(start, start + size) for start, size in zip(starts, lengths, strict=True))
        result: np.ndarray = image[(..., *cut)].reshape(x.shape[0], -1, *lengths)
        if bias is not None:
            result = result + bias.reshape(-1, *unit_sizes)
        return (result.astype(x.dtype),)


def _cut(
    full: Ints,
    sizes: Ints,
    strides: Ints,
    auto_pad: str | None,
    pads: Ints | None,
    output_shape: Ints | None,
) -> tuple[list[int], list[int]]:
    """The part of the full output that is kept: where it begins and its sizes."""
    same = auto_pad in ("SAME_UPPER", "SAME_LOWER")
    starts, lengths = [], []
    for axis, size in enumerate(full):
        if output_shape:
            target = output_shape[axis - len(full)]
        elif same:
            target = min(size, sizes[axis] * strides[axis])
        else:
            explicit = [0] * 2 * len(full) if auto_pad == "VALID" or not pads else pads
            begin, end = explicit[axis], explicit[len(full) + axis]
            starts.append(begin)
            lengths.append(size - begin - end)
            continue
        total = max(0, size - target)
        starts.append(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2)
        lengths.append(target)
    return starts, lengths


class DeformConv(OpRun):
    """A convolution whose kernel reads at places moved by offsets, of images.

    onnx's reads between elements in single precision, of float64 too.
    """

    def _run(
        self,
        x: np.ndarray,
        w: np.ndarray,
        offset: np.ndarray,
        b: np.ndarray | None = None,
        mask: np.ndarray | None = None,
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        offset_group: int = 1,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, ...]:
        if x.ndim != _IMAGES:
            raise NotImplementedError("it knows DeformConv of images only")
        kernel, places = w.shape[2:], offset.shape[2:]
        taps = prod(kernel)
        batch, channels = x.shape[:2]
        moves = offset.astype(np.float64).reshape(batch, offset_group, *kernel, 2, *places)
        factors = np.ones((batch, offset_group, taps, *places)) if mask is None else mask
        coordinates = []
        for axis in range(2):
            tap = np.arange(kernel[axis]) * (dilations or (1, 1))[axis] - (pads or (0, 0))[axis]
            start = np.arange(places[axis]) * (strides or (1, 1))[axis]
            # [kernel rows, kernel columns, rows, columns]
            tap_positions = np.expand_dims(np.add.outer(tap, start), (1 - axis, 3 - axis))
            coordinates.append(moves[:, :, :, :, axis] + tap_positions)
        read = _read_between(x.astype(np.float64), coordinates, offset_group)
        read = read.reshape(batch, offset_group, -1, taps, *places)
        read = read * factors.reshape(batch, offset_group, 1, taps, *places)
        columns = read.reshape(batch, group, channels // group * taps, -1)
        rows = w.astype(np.float64).reshape(group, w.shape[0] // group, -1)
        y = np.einsum("gok,ngkp->ngop", rows, columns).reshape(batch, w.shape[0], *places)
        if b is not None:
            y = y + b.reshape(-1, 1, 1)
        return (y.astype(x.dtype),)


def _read_between(x: np.ndarray, coordinates: Sequence[np.ndarray], groups: int) -> np.ndarray:
    """[sample, group, channel of it, …]: x between its elements; what lies outside is 0."""
    batch, channels, *sizes = x.shape
    images = x.reshape(batch, groups, channels // groups, *sizes)
    unit_sizes = (1 for _ in coordinates[0].shape[2:])
    sample, group, *_ = np.ogrid[(slice(batch), slice(groups), *map(slice, unit_sizes))]
    floor_positions = [np.floor(position).astype(int) for position in coordinates]
    total: np.ndarray = np.zeros(())
    for corner in product((0, 1), repeat=2):
        corner_positions = [low + step for low, step in zip(floor_positions, corner, strict=True)]
        weight: np.ndarray = np.ones(())
        for position, place, size in zip(coordinates, corner_positions, sizes, strict=True):
            is_inside = (place >= 0) & (place < size)
            weight = weight * (1 - np.abs(position - place)) * is_inside
        row, column = (
            place.clip(0, size - 1) for place, size in zip(corner_positions, sizes, strict=True)
        )
        values = images[sample, group, :, row, column]
        total = total + np.moveaxis(values, -1, 2) * weight[:, :, None]
    return total


@dataclass(frozen=True, slots=True)
class _Windows:
    """Where the windows of a pool lie, by spatial axis; `pads` are before and behind."""

    kernel: Ints
    strides: Ints
    dilations: Ints
    pads: tuple[tuple[int, int], ...]
    counts: Ints

    def view(self, x: np.ndarray, fill: float, fill_behind: float) -> np.ndarray:
        """The windows [n, c, *counts, *kernel] of x [n, c, *sizes].

        `fill` stands in the pads, `fill_behind` where the last windows reach beyond them.
        """
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        padded_input = np.pad(x, ((0, 0), (0, 0), *self.pads), constant_values=fill)
        padded_sizes = [
            (count - 1) * stride + span
            for count, stride, span in zip(self.counts, self.strides, spans, strict=True)
        ]
        more = [
            (0, max(0, n - s)) for n, s in zip(padded_sizes, padded_input.shape[2:], strict=True)
        ]
        padded_input = np.pad(padded_input, ((0, 0), (0, 0), *more), constant_values=fill_behind)
        if 0 in self.counts:
            return np.empty((*x.shape[:2], *self.counts, *self.kernel), x.dtype)
        axes = tuple(range(2, x.ndim))
        windows = sliding_window_view(padded_input, spans, axis=axes)
        starts = [
            slice(0, (count - 1) * stride + 1, stride)
            for count, stride in zip(self.counts, self.strides, strict=True)
        ]
        dilation_slices = [slice(None, None, dilation) for dilation in self.dilations]
        view: np.ndarray = windows[(slice(None), slice(None), *starts, *dilation_slices)]
        return view


def _windows(
    sizes: Ints,
    kernel: Ints,
    strides: Ints | None,
    dilations: Ints | None,
    pads: Ints | None,
    auto_pad: str | None,
    ceil_mode: int | None,
) -> _Windows:
    """By the formulas of MaxPool's definition; NotImplementedError where ONNX has two."""
    ndim = len(kernel)
    strides, dilations = strides or [1] * ndim, dilations or [1] * ndim
    pad_sizes = pads or [0] * 2 * ndim
    both, counts = [], []
    for axis, size in enumerate(sizes):
        stride, span = strides[axis], (kernel[axis] - 1) * dilations[axis] + 1
        begin, end = pad_sizes[axis], pad_sizes[ndim + axis]
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            count = ceil(size / stride)
            total = max(0, (count - 1) * stride + span - size)
            less, rest = total // 2, total - total // 2
            begin, end = (less, rest) if auto_pad == "SAME_UPPER" else (rest, less)
        else:
            if auto_pad == "VALID":
                begin = end = 0
            room = size + begin + end - span
            count = (ceil if ceil_mode else floor)(room / stride) + 1
            if (count - 1) * stride >= size + begin:  # it would begin behind the input
                count -= 1
            if auto_pad == "VALID" and count > room // stride + 1:
                raise NotImplementedError(
                    "ONNX's text has no window over the end for VALID with ceil_mode, and its "
                    "shape inference has one"
                )
        both.append((begin, end))
        counts.append(max(0, count))  # a window that is larger than the padded input fits nowhere
    return _Windows(kernel, strides, dilations, tuple(both), counts)


class MaxPool(OpRun):
    """The largest of each window, and where asked for its index in the flattened input."""

    def _run(
        self,
        x: np.ndarray,
        auto_pad: str | None = None,
        ceil_mode: int | None = None,
        dilations: Ints | None = None,
        kernel_shape: Ints = (),
        pads: Ints | None = None,
        storage_order: int | None = None,
        strides: Ints | None = None,
    ) -> tuple[np.ndarray, ...]:
        where = _windows(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        windows = where.view(x, least, least)
        inner = tuple(range(x.ndim, windows.ndim))
        largest = windows.max(inner)
        if len(self.onnx_node.output) == 1:
            return (largest,)
        if storage_order:
            spatial = np.arange(np.prod(x.shape[2:])).reshape(x.shape[:1:-1]).T
        else:
            spatial = np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:])
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1 for _ in inner))
        flat = np.broadcast_to(spatial, x.shape) + planes * spatial.size
        places = where.view(flat, -1, -1).reshape(*largest.shape, -1)
        # An element may be as small as what stands in the pads, which have no place.
        is_largest = (windows.reshape(*largest.shape, -1) == largest[..., None]) & (places >= 0)
        best = is_largest.argmax(-1)
        return largest, np.take_along_axis(places, best[..., None], -1)[..., 0].astype(np.int64)


class AveragePool(OpRun):
    """The mean of each window, over its elements of the input or of the padded input."""

    def _run(
        self,
        x: np.ndarray,
        auto_pad: str | None = None,
        ceil_mode: int | None = None,
        count_include_pad: int | None = None,
        dilations: Ints | None = None,
        kernel_shape: Ints = (),
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[np.ndarray, ...]:
        where = _windows(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        windows = where.view(x.astype(np.float64), 0, 0)
        inner = tuple(range(x.ndim, windows.ndim))
        unit_input = np.ones((1, 1, *x.shape[2:]))
        counts = where.view(unit_input, 1 if count_include_pad else 0, 0).sum(inner)
        return ((windows.sum(inner) / counts).astype(x.dtype),)


class LpPool(OpRun):
    """The p-norm of each window; onnx's divides by another count where a window is cut off."""

    def _run(
        self,
        x: np.ndarray,
        auto_pad: str | None = None,
        ceil_mode: int | None = None,
        dilations: Ints | None = None,
        kernel_shape: Ints = (),
        p: int = 2,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[np.ndarray, ...]:
        where = _windows(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        windows = where.view(np.abs(x.astype(np.float64)) ** p, 0, 0)
        total = windows.sum(tuple(range(x.ndim, windows.ndim)))
        return ((total ** (1 / p)).astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """The largest of each channel; onnx's reduces two axes, whatever their number."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (x.max(tuple(range(2, x.ndim)), keepdims=True),)


class GlobalLpPool(OpRun):
    """The p-norm of each channel; onnx's evaluator does not know it."""

    def _run(self, x: np.ndarray, p: int = 2) -> tuple[np.ndarray, ...]:
        powers = np.abs(x.astype(np.float64)) ** p
        total = powers.sum(tuple(range(2, x.ndim)), keepdims=True)
        return ((total ** (1 / p)).astype(x.dtype),)


class MaxRoiPool(OpRun):
    """The largest element in each bin of each region; onnx's evaluator does not know it."""

    def _run(
        self,
        x: np.ndarray,
        rois: np.ndarray,
        pooled_shape: Ints = (),
        spatial_scale: float = 1.0,
    ) -> tuple[np.ndarray, ...]:
        result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
        for number, (batch, left, top, right, bottom) in enumerate(rois):
            bins = []
            for low, high, count, size in zip(
                (top, left), (bottom, right), pooled_shape, x.shape[2:], strict=True
            ):
                start = floor(low * spatial_scale + 0.5)
                width = max(floor(high * spatial_scale + 0.5) - start + 1, 1) / count
                edges = [
                    (floor(part * width) + start, ceil((part + 1) * width) + start)
                    for part in range(count)
                ]
                bins.append([slice(*np.clip(edge, 0, size)) for edge in edges])
            for i, rows in enumerate(bins[0]):
                for j, columns in enumerate(bins[1]):
                    part = x[int(batch), :, rows, columns]
                    if part.size:  # a bin outside of the image is 0
                        result[number, :, i, j] = part.max((1, 2))
        return (result,)


class RoiAlign(_OnnxRoiAlign):
    """Below opset 16, where regions were not yet shifted by half an element."""

    def _run(  # type: ignore[override]
        self,
        X: np.ndarray,  # noqa: N803 - the definition's name
        rois: np.ndarray,
        batch_indices: np.ndarray,
        **settings: Any,
    ) -> tuple[np.ndarray, ...]:
        results: tuple[np.ndarray, ...] = super()._run(  # type: ignore[no-untyped-call]
            X, rois, batch_indices, "output_half_pixel", **settings
        )
        return results
