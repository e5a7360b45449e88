"""Operators of many files that onnx's evaluator gets wrong or refuses, computed by numpy.

Each is short: what is rarer, or would be longer, stands in `table` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor, prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_stft
from onnx.reference.ops.op_conv_transpose import ConvTranspose as _OnnxConvTranspose
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19
from onnx.reference.ops.op_grid_sample import GridSample as _OnnxGridSample
from onnx.reference.ops.op_non_max_suppression import NonMaxSuppression as _OnnxNonMaxSuppression

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


class ConvTranspose(_OnnxConvTranspose):
    """Group by group; onnx's is wrong or fails for several groups."""

    def _run(  # type: ignore[override]
        self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None, **settings: Any
    ) -> tuple[np.ndarray, ...]:
        groups = settings.pop("group") or 1
        parts = zip(np.split(x, groups, 1), np.split(w, groups), strict=True)
        compute: Any = super()._run
        y = np.concatenate([compute(a, b, None, group=1, **settings)[0] for a, b in parts], 1)
        if bias is not None:
            y = y + bias.reshape(-1, *(1 for _ in x.shape[2:]))
        return (y.astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """The largest of each channel; onnx's reduces two axes, whatever their number."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (x.max(tuple(range(2, x.ndim)), keepdims=True),)


def _extent(
    size: int, span: int, stride: int, pads: tuple[int, int], settings: Mapping[str, Any]
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


def _windows(x: np.ndarray, fill: float, edge: float, settings: Mapping[str, Any]) -> np.ndarray:
    """[n, c, *counts, windows' elements]: `fill` in the pads, `edge` where windows pass them."""
    kernel, ndim = settings["kernel_shape"], x.ndim - 2
    strides, dilations = (settings.get(n) or [1] * ndim for n in ("strides", "dilations"))
    pads = settings.get("pads") or [0] * 2 * ndim
    spans, index, inner, outer = [], [slice(None)] * 2, [(0, 0)] * 2, [(0, 0)] * 2
    for axis, (size, k, step, gap) in enumerate(
        zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ):
        spans.append((k - 1) * gap + 1)
        count, begin, end = _extent(
            size, spans[-1], step, (pads[axis], pads[axis + ndim]), settings
        )
        inner.append((begin, end))
        reach = (max(count, 1) - 1) * step + spans[-1]
        outer.append((0, max(0, reach - size - begin - end)))
        index.append(slice(0, max(0, (count - 1) * step + 1), step))
    x = np.pad(np.pad(x, inner, constant_values=fill), outer, constant_values=edge)
    index += [slice(None, None, gap) for gap in dilations]
    view = sliding_window_view(x, spans, axis=tuple(range(2, x.ndim)))[tuple(index)]
    return view.reshape(*view.shape[: ndim + 2], prod(kernel))


class MaxPool(OpRun):
    """Values alone, of any rank; onnx's errs in rounding up, dilations and other ranks."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        return (_windows(x, least, least, settings).max(-1),)


class AveragePool(OpRun):
    """Over elements of the input or of the padded input, where onnx's fails or errs."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:
        return (_average(x, settings),)


def _average(x: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray:
    if settings.get("channels_last"):
        last_settings = {**settings, "channels_last": 0}
        return np.moveaxis(_average(np.moveaxis(x, -1, 1), last_settings), 1, -1)
    if "kernel_shape" not in settings:  # it is global
        return np.asarray(x.mean(tuple(range(2, x.ndim)), keepdims=True))
    pad_count = 1 if settings.get("count_include_pad") else 0
    counts = _windows(np.ones((1, 1, *x.shape[2:])), pad_count, 0, settings).sum(-1)
    return (_windows(x.astype(float), 0, 0, settings).sum(-1) / counts).astype(x.dtype)


class GridSample(_OnnxGridSample):
    """Two of the modes had other names below opset 20; onnx's knows the new ones alone."""

    def _run(self, *inputs: np.ndarray, mode: str, **settings: Any) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        new_name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        compute: Any = super()._run
        results: tuple[np.ndarray, ...] = compute(*inputs, mode=new_name, **settings)
        return results


class NonMaxSuppression(_OnnxNonMaxSuppression):
    """onnx's takes no scalar limits and fails where one before the last is absent."""

    def _run(
        self, boxes: np.ndarray, scores: np.ndarray, *limits: np.ndarray | None, **settings: Any
    ) -> tuple[np.ndarray, ...]:
        absent = (np.zeros(1, np.int64), np.zeros(1, np.float32), np.full(1, -np.inf, np.float32))
        values = (*limits, None, None, None)[:3]
        arguments = [d if v is None else v.reshape(1) for v, d in zip(values, absent, strict=True)]
        compute: Any = super()._run
        results: tuple[np.ndarray, ...] = compute(boxes, scores, *arguments, **settings)
        return results


class STFT(op_stft.STFT):
    """onnx's fails for signals without their last axis, as torch writes them."""

    def _run(self, x: np.ndarray, *inputs: Any, **settings: Any) -> tuple[np.ndarray, ...]:
        compute: Any = super()._run
        results: tuple[np.ndarray, ...] = compute(x.reshape(*x.shape[:2], -1), *inputs, **settings)
        return results


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


def _weights(positions: np.ndarray, size: int, mode: str, nearest: str, a: float) -> np.ndarray:
    """[outputs, size]: the weight of each input in each output."""
    low = np.floor(positions)
    if mode == "nearest":
        share = positions - low
        up = {"floor": share < 0, "ceil": share > 0, "round_prefer_floor": share > 0.5,
              "round_prefer_ceil": share >= 0.5}[nearest]  # fmt: skip
        places, weights = (low + up)[:, None], np.ones((len(positions), 1))
    else:
        places = low[:, None] + ((0, 1) if mode == "linear" else (-1, 0, 1, 2))
        d = np.abs(positions[:, None] - places)
        far = np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0)
        cubic = np.where(d <= 1, ((a + 2) * d - (a + 3)) * d**2 + 1, far)
        weights = 1 - d if mode == "linear" else cubic
    matrix = np.zeros((len(positions), size))
    index = np.arange(len(low))[:, None], places.clip(0, size - 1).astype(int)
    np.add.at(matrix, index, weights)
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
        # Below opset 11 the second input are the scales.
        old = self._schema.since_version < 11
        sources = (scales if roi is None else roi, None) if old else (scales, sizes)
        lengths = [*_lengths(x.shape, how.get("axes") or range(x.ndim), *sources)]
        result = x
        for axis, count, scale in lengths if any(x.shape[a] != n for a, n, _ in lengths) else ():
            rule = "asymmetric" if old else how["coordinate_transformation_mode"]
            positions = _places(rule, count, x.shape[axis], scale)
            nearest, a = how.get("nearest_mode", "floor"), how.get("cubic_coeff_a", -0.75)
            matrix = _weights(positions, x.shape[axis], how["mode"], nearest, a)
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


def _quantised(y: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    limits = np.iinfo(zero.dtype)
    return (np.rint(y / scale) + zero).clip(limits.min, limits.max).astype(zero.dtype)


class QLinear(OpRun):
    """Of quantised files: between numbers that are dequantised and quantised again, each input
    with scale and zero point, and those of the output."""

    op_domain = "com.microsoft"

    def _run(self, *values: Any, **settings: Any) -> tuple[np.ndarray, ...]:
        kind = self.onnx_node.op_type.removeprefix("QLinear")
        end = values[:2] if kind == "Concat" else values[-2:]
        values = values[2:] if kind == "Concat" else values[:-2]
        triples = zip(values[::3], values[1::3], values[2::3], strict=True)
        reals = [(x.astype(np.float32) - z) * s for x, s, z in triples]
        return (_quantised(_REAL[kind](reals, settings), *end),)


_REAL: Mapping[str, Callable[[Sequence[np.ndarray], Mapping[str, Any]], np.ndarray]] = {
    "Add": lambda x, how: x[0] + x[1],
    "Mul": lambda x, how: x[0] * x[1],
    "Concat": lambda x, how: np.concatenate(x, how["axis"]),
    "Sigmoid": lambda x, how: 1 / (1 + np.exp(-x[0])),
    "LeakyRelu": lambda x, how: np.where(x[0] < 0, how.get("alpha", 0.01), 1) * x[0],
    "GlobalAveragePool": lambda x, how: _average(x[0], how),
    "AveragePool": lambda x, how: _average(x[0], how),
}


class QGemm(OpRun):
    """Sums of products of integers, scaled, and quantised where a scale for that is given."""

    op_domain = "com.microsoft"

    def _run(
        self, a: Any, sa: Any, za: Any, b: Any, sb: Any, zb: Any, *rest: Any, **settings: Any
    ) -> tuple[np.ndarray, ...]:
        c, *end = [*rest, None, None, None][:3]
        a, b = a.astype(np.int64), b.astype(np.int64)
        a, b = a.T if settings.get("transA") else a, b.T if settings.get("transB") else b
        sums = (a - za) @ (b - zb) + (0 if c is None else c)
        y = (sums * (settings.get("alpha", 1.0) * sa * sb)).astype(np.float32)
        return (y if end[0] is None else _quantised(y, *end),)


_ALWAYS = 2**31
CORRECTIONS: Mapping[str, tuple[type[OpRun], int]] = {
    operator.__name__: (operator, version)
    for version, operators in {
        _ALWAYS: (AveragePool, ConvTranspose, GatherElements, GlobalMaxPool, LRN, LogSoftmax,
                  MaxPool, Mean, NonMaxSuppression, QGemm, Resize, STFT, ZipMap),
        20: (GridSample,),
        19: (DequantizeLinear,),
        14: (BatchNormalization,),
        13: (Softmax, Unsqueeze),
        10: (Upsample,),
    }.items()
    for operator in operators
} | {f"QLinear{kind}": (QLinear, _ALWAYS) for kind in _REAL}  # fmt: skip
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
        results: tuple[Any, ...] = compute(*inputs, **settings)
        return results
    wide = [
        x.astype(np.float32) if str(t) in _HALF else x for x, t in zip(inputs, types, strict=True)
    ]
    first, *rest = compute(*wide, **settings)
    return (first.astype(half) if first.dtype == np.float32 else first, *rest)
