"""Convolutions that onnx computes otherwise: transposed, and with offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

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
        ones = [1] * len(sizes)
        windows = _Scatter(sizes, kernel, strides or ones, dilations or ones)
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
            result = result + bias.reshape(-1, *ones)
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
            before, behind = explicit[axis], explicit[len(full) + axis]
            starts.append(before)
            lengths.append(size - before - behind)
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
            at = np.expand_dims(np.add.outer(tap, start), (1 - axis, 3 - axis))
            coordinates.append(moves[:, :, :, :, axis] + at)
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
    others = (1 for _ in coordinates[0].shape[2:])
    sample, group, *_ = np.ogrid[(slice(batch), slice(groups), *map(slice, others))]
    below = [np.floor(at).astype(int) for at in coordinates]
    total: np.ndarray = np.zeros(())
    for corner in product((0, 1), repeat=2):
        near = [low + step for low, step in zip(below, corner, strict=True)]
        weight: np.ndarray = np.ones(())
        for at, place, size in zip(coordinates, near, sizes, strict=True):
            inside = (place >= 0) & (place < size)
            weight = weight * (1 - np.abs(at - place)) * inside
        row, column = (place.clip(0, size - 1) for place, size in zip(near, sizes, strict=True))
        values = images[sample, group, :, row, column]
        total = total + np.moveaxis(values, -1, 2) * weight[:, :, None]
    return total
