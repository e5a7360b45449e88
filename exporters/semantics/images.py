"""Operators on images: Resize and Upsample, GridSample and AffineGrid, NonMaxSuppression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

_FIRST_WITH_MODES = 11
"""Before this opset coordinates were asymmetric and the nearest was the one below."""
_ROUNDING = 1e-6
"""A coordinate so close to a whole number, or to the middle of two, is meant to be it."""
_POLICIES = {"not_larger": min, "not_smaller": max}
"""How the one ratio is chosen that keeps the proportions of the input."""


class Resize(OpRun):
    """All versions from 10 on."""

    def _run(
        self,
        x: np.ndarray,
        roi: np.ndarray | None = None,
        scales: np.ndarray | None = None,
        sizes: np.ndarray | None = None,
        antialias: int | None = None,
        axes: Sequence[int] | None = None,
        coordinate_transformation_mode: str | None = None,
        cubic_coeff_a: float | None = None,
        exclude_outside: int | None = None,
        extrapolation_value: float | None = None,
        keep_aspect_ratio_policy: str | None = None,
        mode: str | None = None,
        nearest_mode: str | None = None,
    ) -> tuple[np.ndarray, ...]:
        if self._schema.since_version < _FIRST_WITH_MODES:
            if mode == "nearest" and roi is not None and roi.min() < 1:
                raise NotImplementedError("opset 10 does not specify how Resize rounds downwards")
            scales_or_roi, transformation, nearest = roi, "asymmetric", "floor"
        else:
            scales_or_roi = None if scales is None or not scales.size else scales
            transformation = str(coordinate_transformation_mode)
            nearest = str(nearest_mode)
        kernel = _Kernel(
            str(mode), nearest, cubic_coeff_a or -0.75, bool(exclude_outside), bool(antialias)
        )
        resized_axes = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
        lengths = _lengths([x.shape[axis] for axis in resized_axes], scales_or_roi, sizes)
        if scales_or_roi is None and keep_aspect_ratio_policy in _POLICIES:
            ratio = _POLICIES[keep_aspect_ratio_policy](scale for _, scale in lengths)
            lengths = [(floor(x.shape[axis] * ratio + 0.5), ratio) for axis in resized_axes]
        if transformation == "tf_crop_and_resize":
            assert roi is not None, "a crop has a region"
            regions = np.asarray(roi, np.float64).reshape(2, -1).T
            crop = _Crop(regions, extrapolation_value or 0.0)
            return (_resize_axes(x, resized_axes, lengths, transformation, kernel, crop),)
        return (_resize_axes(x, resized_axes, lengths, transformation, kernel),)


class Upsample(OpRun):
    """What Resize was called below opset 10; the scales are an attribute below opset 9."""

    def _run(
        self, x: np.ndarray, scales: Sequence[float] | np.ndarray = (), mode: str | None = None
    ) -> tuple[np.ndarray, ...]:
        kernel = _Kernel(mode or "nearest", "floor", -0.75, False, False)
        lengths = _lengths(x.shape, np.asarray(scales), None)
        return (_resize_axes(x, range(x.ndim), lengths, "asymmetric", kernel),)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """How an output is made of the inputs beside its coordinate."""

    mode: str
    nearest: str
    cubic_a: float
    exclude_outside: bool
    antialias: bool

    def matrix(self, coordinates: np.ndarray, size: int, scale: float) -> np.ndarray:
        """[outputs, size]: the weight of each input in each output.

        With `antialias` a kernel for fewer outputs than inputs is as many times wider.
        """
        halves = np.round(coordinates * 2) / 2
        coordinates = np.where(np.abs(coordinates - halves) < _ROUNDING, halves, coordinates)
        floors = np.floor(coordinates).astype(int)
        fractions = coordinates - floors
        if self.mode == "nearest":
            places, weights = self._nearest(floors, fractions), np.ones((len(floors), 1))
        elif self.antialias and scale < 1:
            radius = ceil((1 if self.mode == "linear" else 2) / scale)
            places = floors[:, None] + np.arange(-radius, radius + 2)
            distance = np.abs(coordinates[:, None] - places) * scale
            linear = np.clip(1 - distance, 0, 1)
            weights = linear if self.mode == "linear" else _cubic(distance, self.cubic_a)
            weights = weights / weights.sum(1, keepdims=True)
        elif self.mode == "linear":
            places, weights = floors[:, None] + (0, 1), np.stack([1 - fractions, fractions], 1)
        else:
            places = floors[:, None] + (-1, 0, 1, 2)
            weights = _cubic(np.abs(coordinates[:, None] - places), self.cubic_a)
        if self.exclude_outside:
            weights = np.where((places < 0) | (places >= size), 0, weights)
            weights = weights / weights.sum(1, keepdims=True)
        matrix = np.zeros((len(floors), size))
        rows = np.broadcast_to(np.arange(len(floors))[:, None], places.shape)
        np.add.at(matrix, (rows, places.clip(0, size - 1)), weights)
        return matrix

    def _nearest(self, floors: np.ndarray, fractions: np.ndarray) -> np.ndarray:
        up = {
            "floor": np.zeros_like(floors),
            "ceil": fractions > 0,
            "round_prefer_floor": fractions > 0.5,
            "round_prefer_ceil": fractions >= 0.5,
        }[self.nearest]
        return (floors + up)[:, None]


@dataclass(frozen=True, slots=True)
class _Crop:
    """The part of the input that is resized, from 0 to 1 along each axis, and what lies outside."""

    regions: np.ndarray
    outside: float

    def coordinates(self, place: int, count: int, size: int) -> np.ndarray:
        start, end = self.regions[place]
        if count == 1:
            return np.array([(start + end) / 2 * (size - 1)])
        step = (end - start) * (size - 1) / (count - 1)
        return start * (size - 1) + np.arange(count) * step


def _resize_axes(
    x: np.ndarray,
    axes: Sequence[int],
    lengths: Sequence[tuple[int, float]],
    transformation: str,
    kernel: _Kernel,
    crop: _Crop | None = None,
) -> np.ndarray:
    result = x.astype(np.float64)
    outside = []
    if crop is None and all(
        count == x.shape[axis] for axis, (count, _) in zip(axes, lengths, strict=True)
    ):
        return x  # whatever the scales: engines resize nothing to the shape that it has
    for place, axis in enumerate(axes):
        size = x.shape[axis]
        count, scale = lengths[place]
        if crop is not None:
            coordinates = crop.coordinates(place, count, size)
            outside.append((axis, (coordinates < 0) | (coordinates > size - 1)))
        elif count == size and scale == 1.0:
            continue
        else:
            coordinates = _coordinates(transformation, count, size, scale)
        matrix = kernel.matrix(coordinates, size, scale)
        result = np.moveaxis(np.tensordot(matrix, result, (1, axis)), 0, axis)
    for axis, beyond in outside:
        assert crop is not None, "a crop alone has an outside"
        np.moveaxis(result, axis, 0)[beyond] = crop.outside
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        result = np.rint(result).clip(limits.min, limits.max)
    return result.astype(x.dtype)


def _lengths(
    shape: Sequence[int], scales: np.ndarray | None, sizes: np.ndarray | None
) -> list[tuple[int, float]]:
    """The length of each axis of the output, and its scale."""
    if scales is not None:
        # In single precision, as shape inference does.
        return [
            (int(np.float32(scale) * np.float32(size)), float(scale))
            for size, scale in zip(shape, scales, strict=True)
        ]
    assert sizes is not None, "a Resize has scales or sizes"
    return [(int(n), int(n) / size) for size, n in zip(shape, sizes, strict=True)]


def _coordinates(transformation: str, count: int, size: int, scale: float) -> np.ndarray:
    """Where each of the outputs lies among the inputs, by the table in Resize's definition."""
    x = np.arange(count, dtype=np.float64)
    half_pixel: np.ndarray = (x + 0.5) / scale - 0.5
    match transformation:
        case "half_pixel":
            return half_pixel
        case "pytorch_half_pixel":
            return half_pixel if count > 1 else np.zeros(1)
        case "half_pixel_symmetric":
            return half_pixel + size / 2 * (1 - count / (size * scale))
        case "align_corners":
            # The corners are those of the output as it is, whose size is a whole number.
            return x * (size - 1) / (count - 1) if count > 1 else np.zeros(count)
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
    raise NotImplementedError(f"it does not know the coordinates of {transformation}")


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel."""
    near_weights: np.ndarray = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near_weights, np.where(distance < 2, far, 0.0))


_CUBIC_A = -0.75
_OLD_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
"""Two of the modes had other names below opset 20."""


class GridSample(OpRun):
    """By the definition, with padding applied to each neighbour of a cubic, as torch does.

    onnx's moves the coordinate of a cubic to the border instead.
    """

    def _run(
        self,
        x: np.ndarray,
        grid: np.ndarray,
        align_corners: int | None = None,
        mode: str | None = None,
        padding_mode: str | None = None,
    ) -> tuple[np.ndarray, ...]:
        method = _OLD_NAMES.get(str(mode), str(mode))
        padding = str(padding_mode)
        sizes = x.shape[2:]
        # Coordinates are rounded as the engines do, so that they agree on a tie.
        wide = grid.astype(np.result_type(grid.dtype, np.float32))
        taps = []
        for axis, size in enumerate(sizes):
            positions = wide[..., len(sizes) - 1 - axis]  # the grid names the last axis first
            positions = (
                (positions + 1) / 2 * (size - 1)
                if align_corners
                else ((positions + 1) * size - 1) / 2
            )
            if method != "cubic":
                positions = _pad_positions(positions, size, padding, bool(align_corners))
            taps.append(_taps(positions, method))
        image: Any = x.astype(np.float64)
        result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
        batch = np.arange(x.shape[0]).reshape(-1, *(1 for _ in grid.shape[1:-1]))
        for combination in product(*taps):
            weight = np.ones(grid.shape[:-1])
            index: list[Any] = []
            for (tap_positions, share), size in zip(combination, sizes, strict=True):
                cubic = method == "cubic"
                place = (
                    _pad_positions(tap_positions, size, padding, bool(align_corners))
                    if cubic
                    else tap_positions
                )
                is_inside = (place >= 0) & (place <= size - 1)
                weight = np.where(is_inside, weight * share, 0.0)
                index.append(np.where(is_inside, place, 0).astype(np.int64))
            values = image[(batch, slice(None), *index)]
            result += (
                np.moveaxis(np.where(weight[..., None] == 0, 0.0, values), -1, 1) * weight[:, None]
            )
        return (result.astype(x.dtype),)


def _pad_positions(at: np.ndarray, size: int, padding: str, align_corners: bool) -> np.ndarray:
    """Coordinates of the image for those outside of it; `zeros` leaves them there."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        if high > low:
            beyond = np.abs(at - low) % (2 * (high - low))
            at = low + np.minimum(beyond, 2 * (high - low) - beyond)
    return np.clip(at, 0, size - 1)


def _taps(positions: np.ndarray, mode: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The neighbours of each coordinate along one axis, with their weights."""
    floors = np.floor(positions)
    if mode == "nearest":
        return [(np.rint(positions), np.ones(positions.shape))]
    fractions = positions.astype(np.float64) - floors
    if mode == "linear":
        return [(floors, 1 - fractions), (floors + 1, fractions)]
    if mode == "cubic":
        return [
            (floors + step, _sampling_cubic(np.abs(fractions - step))) for step in (-1, 0, 1, 2)
        ]
    raise NotImplementedError(f"it does not know the mode {mode} of GridSample")


def _sampling_cubic(distance: np.ndarray) -> np.ndarray:
    """Keys' kernel."""
    a = _CUBIC_A
    near_weights: np.ndarray = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near_weights, np.where(distance < 2, far, 0.0))


class AffineGrid(OpRun):
    """A grid of -1 to 1 that an affine map moves; onnx's begins an axis of one element at -1."""

    def _run(
        self, theta: np.ndarray, size: np.ndarray, align_corners: int | None = None
    ) -> tuple[np.ndarray, ...]:
        steps = []
        for count in (int(n) for n in size[2:]):
            middle = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
            steps.append(middle if align_corners else (np.arange(count) * 2 + 1) / count - 1)
        axes = np.meshgrid(*steps, indexing="ij")
        places = np.stack([*axes[::-1], np.ones_like(axes[0])], -1)
        points = np.einsum("...k,ndk->n...d", places, theta.astype(np.float64))
        return (points.astype(theta.dtype),)


class NonMaxSuppression(OpRun):
    """onnx's takes no scalar limits and fails where one before the last is absent."""

    def _run(
        self,
        boxes: np.ndarray,
        scores: np.ndarray,
        max_output_boxes_per_class: np.ndarray | None = None,
        iou_threshold: np.ndarray | None = None,
        score_threshold: np.ndarray | None = None,
        center_point_box: int = 0,
    ) -> tuple[np.ndarray, ...]:
        most = int(_number(max_output_boxes_per_class, 0))
        overlap = _number(iou_threshold, 0.0)
        least = None if score_threshold is None else _number(score_threshold, 0.0)
        selection = [
            (batch, label, box)
            for batch, label in np.ndindex(*scores.shape[:2])
            for box in _best(
                _corners(boxes[batch], bool(center_point_box)),
                scores[batch, label],
                most,
                overlap,
                least,
            )
        ]
        return (np.array(selection, np.int64).reshape(-1, 3),)


def _number(value: np.ndarray | None, default: float) -> float:
    return default if value is None else np.asarray(value).reshape(-1)[0].item()


def _corners(boxes: np.ndarray, centred: bool) -> np.ndarray:
    """[boxes, 2, 2]: the smaller and the larger corner of each."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if centred:
        first, second = first - second / 2, first + second / 2
    return np.stack([np.minimum(first, second), np.maximum(first, second)], 1)


def _best(
    corners: np.ndarray, scores: np.ndarray, most: int, overlap: float, least: float | None
) -> list[int]:
    areas = np.prod(corners[:, 1] - corners[:, 0], 1)
    survivors: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(survivors) >= most or (least is not None and scores[box] <= least):
            break
        low = np.maximum(corners[survivors, 0], corners[box, 0])
        high = np.minimum(corners[survivors, 1], corners[box, 1])
        common = np.prod(np.maximum(high - low, 0), 1)
        union = areas[survivors] + areas[box] - common
        if not np.any((union > 0) & (common > overlap * union)):
            survivors.append(int(box))
    return survivors
