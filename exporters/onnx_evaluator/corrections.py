"""Operators of many files that onnx's evaluator gets wrong or refuses, computed by numpy.

Each has at most 15 lines, all of them 200: what is rarer, or longer, stands in `table` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, prod
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19

_FIRST_ALONG_ONE_AXIS = 13
"""Before this opset the shape was folded in two at the axis, and the second part was one row."""


class Softmax(OpRun):
    """Of rows as the opset cuts them; onnx's takes one axis in all opsets."""

    def _run(self, x: np.ndarray, axis: int = -1) -> tuple[np.ndarray, ...]:
        if not x.size:
            return (x,)
        if self._schema.since_version >= _FIRST_ALONG_ONE_AXIS:
            return (np.moveaxis(self._rows(np.moveaxis(x, axis, -1)), -1, axis),)
        axis += x.ndim if axis < 0 else 0  # it may be x.ndim: each element is a row
        return (self._rows(x.reshape(prod(x.shape[:axis]), -1)).reshape(x.shape),)

    def _rows(self, x: np.ndarray) -> np.ndarray:
        powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


class LogSoftmax(Softmax):
    """onnx's takes the logarithm of what has become 0."""

    def _rows(self, x: np.ndarray) -> np.ndarray:
        shifted_rows: np.ndarray = x - x.max(-1, keepdims=True)
        return shifted_rows - np.log(np.exp(shifted_rows).sum(-1, keepdims=True))


class BatchNormalization(OpRun):
    """Below opset 14 by the given mean and variance; onnx's mixes these with the batch's."""

    def _run(
        self, x: np.ndarray, *parameters: np.ndarray, epsilon: float = 1e-5, **settings: Any
    ) -> tuple[np.ndarray, ...]:
        if settings.get("spatial") == 0:
            raise NotImplementedError("it normalises channels only")
        channels = (-1, *(1 for _ in x.shape[2:]))
        scale, bias, mean, variance = (p.astype(float).reshape(channels) for p in parameters)
        return (((x - mean) * (scale / np.sqrt(variance + epsilon)) + bias).astype(x.dtype),)


class LRN(OpRun):
    """Over the squares in a window of channels; onnx's counts them by the size of the batch."""

    def _run(
        self, x: np.ndarray, alpha: float, beta: float, bias: float, size: int
    ) -> tuple[np.ndarray, ...]:
        begin, end = (size - 1) // 2, size - 1 - (size - 1) // 2
        pads = [(0, 0), (begin, end), *((0, 0) for _ in x.shape[2:])]
        squares = np.pad(np.square(x.astype(float)), pads)
        total = sum(squares[:, step : step + x.shape[1]] for step in range(size))
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class Mean(OpRun):
    """Of operands that broadcast; onnx's writes into the first."""

    def _run(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.asarray(sum(operands) / len(operands)).astype(operands[0].dtype),)


class GatherElements(OpRun):
    """onnx's fails where the axis has 64 entries, is negative, or others are shorter."""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray, ...]:
        axis %= data.ndim
        part = [slice(size) for size in indices.shape]
        part[axis] = slice(None)
        return (np.take_along_axis(data[tuple(part)], indices, axis),)


class Unsqueeze(OpRun):
    """Below opset 13: axes are places in the output; onnx's puts one in after the other."""

    def _run(self, data: np.ndarray, axes: Sequence[int] = ()) -> tuple[np.ndarray, ...]:
        return (np.expand_dims(data, tuple(axes)),)


class DequantizeLinear(DequantizeLinear_19):
    """Below opset 19, where onnx's evaluator lacks it; the older definitions take less."""


class GlobalMaxPool(OpRun):
    """The largest of each channel; onnx's reduces two axes, whatever their number."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (x.max(tuple(range(2, x.ndim)), keepdims=True),)


def _extent(
    size: int, span: int, stride: int, pads: Sequence[int], settings: Mapping[str, Any]
) -> tuple[int, int, int]:
    """Along one axis: the number of windows and the pads, by the formulas of MaxPool."""
    mode = settings.get("auto_pad")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        count = ceil(size / stride)
        total = max(0, (count - 1) * stride + span - size)
        begin = total // 2 if mode == "SAME_UPPER" else total - total // 2
        return count, begin, total - begin
    begin, end = (0, 0) if mode == "VALID" else pads
    count = (ceil if settings.get("ceil_mode") else floor)((size + begin + end - span) / stride) + 1
    if (count - 1) * stride >= size + begin:  # it would begin behind the input
        count -= 1
    return max(0, count), begin, end


def _axes(
    shape: Sequence[int], settings: Mapping[str, Any]
) -> Iterator[tuple[np.ndarray, int, int]]:
    """For each axis where the elements of each window lie, [windows, elements], and the pads."""
    kernel, ndim = settings["kernel_shape"], len(shape)
    strides, gaps = (settings.get(name) or [1] * ndim for name in ("strides", "dilations"))
    pads = settings.get("pads") or [0] * 2 * ndim
    for size, k, stride, gap, ends in zip(
        shape, kernel, strides, gaps, zip(pads[:ndim], pads[ndim:], strict=True), strict=True
    ):
        count, begin, end = _extent(size, (k - 1) * gap + 1, stride, ends, settings)
        places = np.arange(count)[:, None] * stride + np.arange(k) * gap
        yield places, begin, end


def _windows(x: np.ndarray, fill: float, settings: Mapping[str, Any]) -> np.ndarray:
    """[n, c, *counts, *kernel], with `fill` outside of the input."""
    for axis, (places, begin, end) in enumerate(_axes(x.shape[2:], settings), 2):
        over = max(0, int(places.max(initial=0)) + 1 - begin - x.shape[axis])
        pads = [(0, 0)] * x.ndim
        pads[axis] = begin, max(end, over)
        padded = np.pad(x, pads, constant_values=fill)
        x = np.moveaxis(padded.take(places, axis), axis + 1, -1)
    return x


class MaxPool(OpRun):
    """Values alone, of any rank; onnx's errs in rounding up, dilations and other ranks."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        return (_windows(x, least, settings).max(tuple(range(x.ndim, 2 * x.ndim - 2))),)


class AveragePool(OpRun):
    """Over elements of the input or of the padded input, where onnx's fails or errs."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:
        y = _windows(x.astype(float), 0, settings).sum(tuple(range(x.ndim, 2 * x.ndim - 2)))
        for axis, (places, begin, end) in enumerate(_axes(x.shape[2:], settings), 2):
            first, last = begin, begin + x.shape[axis]
            if settings.get("count_include_pad"):
                first, last = 0, last + end
            counts = ((places >= first) & (places < last)).sum(1)
            y /= counts.reshape(-1, *(1 for _ in range(axis + 1, x.ndim)))
        return (y.astype(x.dtype),)


def _places(how: str, count: int, size: int, scale: float) -> np.ndarray:
    """Where outputs lie among the inputs of one axis, by the table in Resize's definition."""
    x = np.arange(count, dtype=float)
    if how == "align_corners":
        positions = x * (size - 1) / max(1, count - 1)
    elif how == "asymmetric":
        positions = x / scale
    else:
        positions = np.zeros(1) if how[0] == "p" and count == 1 else (x + 0.5) / scale - 0.5
    halves = np.round(positions * 2) / 2
    return np.where(np.abs(positions - halves) < 1e-6, halves, positions)


def _nearest(positions: np.ndarray, rule: str) -> np.ndarray:
    low = np.floor(positions)
    share = positions - low
    up = {"floor": share < 0, "ceil": share > 0, "round_prefer_floor": share > 0.5,
          "round_prefer_ceil": share >= 0.5}  # fmt: skip
    return np.asarray(low + up[rule])


def _weights(positions: np.ndarray, size: int, how: Mapping[str, Any]) -> np.ndarray:
    """[outputs, size]: the weight of each input in each output."""
    if how["mode"] == "nearest":
        positions = _nearest(positions, how.get("nearest_mode", "floor"))
    a, steps = how.get("cubic_coeff_a", -0.75), (-1, 0, 1, 2) if how["mode"] == "cubic" else (0, 1)
    places = np.floor(positions)[:, None] + steps
    d = np.abs(positions[:, None] - places)
    far = np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0)
    cubic = np.where(d <= 1, ((a + 2) * d - (a + 3)) * d**2 + 1, far)
    matrix = np.zeros((len(positions), size))
    index = np.arange(len(positions))[:, None], places.clip(0, size - 1).astype(int)
    np.add.at(matrix, index, cubic if how["mode"] == "cubic" else 1 - d)
    return matrix


def _lengths(
    shape: Sequence[int], axes: Sequence[int], scales: Any, sizes: Any
) -> Iterator[tuple[int, int, float]]:
    """The axes that change, with their lengths and scales; in single precision, as inferred."""
    for place, axis in enumerate(axes):
        has_scales = scales is not None and np.size(scales) > 0
        scale = float(scales[place]) if has_scales else int(sizes[place]) / shape[axis]
        count = (
            int(np.float32(scale) * np.float32(shape[axis])) if has_scales else int(sizes[place])
        )
        if (count, scale) != (shape[axis], 1.0):
            yield axis % len(shape), count, scale


class Resize(OpRun):
    """Along each axis in turn; onnx's errs at corners, ties and repeated axes, and takes long."""

    def _run(
        self, x: np.ndarray, roi: Any = None, scales: Any = None, sizes: Any = None, **how: Any
    ) -> tuple[np.ndarray, ...]:
        if self._schema.since_version < 11:  # the second input are the scales
            scales, sizes = scales if roi is None else roi, None
            how["coordinate_transformation_mode"] = "asymmetric"
        lengths = [*_lengths(x.shape, how.get("axes") or range(x.ndim), scales, sizes)]
        result = x
        for axis, count, scale in lengths if any(x.shape[a] != n for a, n, _ in lengths) else ():
            rule, size = how["coordinate_transformation_mode"], x.shape[axis]
            matrix = _weights(_places(rule, count, size, scale), size, how)
            result = np.moveaxis(np.tensordot(matrix, result, (1, axis)), 0, axis)
        return ((np.rint(result) if x.dtype.kind in "iu" else result).astype(x.dtype),)


class Upsample(Resize):
    """What Resize was called below opset 10; the scales are an attribute below opset 9."""


class ZipMap(OpRun):
    """A map of each row, as classifiers of scikit-learn end; onnx's evaluator lacks it."""

    op_domain = "ai.onnx.ml"

    def _run(
        self, x: np.ndarray, classlabels_int64s: Any = None, classlabels_strings: Any = None
    ) -> tuple[list[dict[Any, Any]], ...]:
        labels = classlabels_int64s or classlabels_strings
        return ([dict(zip(labels, row, strict=True)) for row in x.reshape(-1, len(labels))],)


_ALWAYS = 2**31
CORRECTIONS: Mapping[str, tuple[type[OpRun], int]] = {
    operator.__name__: (operator, version)
    for version, operators in {
        _ALWAYS: (AveragePool, GatherElements, GlobalMaxPool, LRN, LogSoftmax, MaxPool, Mean,
                  Resize, ZipMap),
        19: (DequantizeLinear,),
        14: (BatchNormalization,),
        13: (Softmax, Unsqueeze),
        10: (Upsample,),
    }.items()
    for operator in operators
}  # fmt: skip
"""By operator, each for the opsets below a number."""
HALF_IN_SINGLE = frozenset(
    ("AveragePool", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool", "GroupNormalization",
     "InstanceNormalization", "LayerNormalization", "LogSoftmax", "LpNormalization", "LpPool",
     "MatMul", "MeanVarianceNormalization", "NegativeLogLikelihoodLoss", "QLinearMatMul",
     "QuantizeLinear", "RMSNormalization", "ReduceL1", "ReduceL2", "ReduceLogSum",
     "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare", "Softmax")
)  # fmt: skip
"""Operators whose half precision is computed in float32, as engines do: onnx's overflows."""
_HALF = ("float16", "bfloat16")


def with_float32(
    compute: Any, inputs: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, ...]:
    """With inputs of half precision in float32, and the first output in their type again."""
    types = [getattr(x, "dtype", None) for x in inputs]
    half = next((kind for kind in types if str(kind) in _HALF), None)
    if half is None:
        return tuple(compute(*inputs, **settings))
    wide = [
        x.astype(np.float32) if str(t) in _HALF else x for x, t in zip(inputs, types, strict=True)
    ]
    first, *rest = compute(*wide, **settings)
    return (first.astype(half) if first.dtype == np.float32 else first, *rest)
