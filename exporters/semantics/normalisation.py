"""Reductions, normalisations and attention: elements weighed against others of their row, channel
or norm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from onnx import helper
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_attention import Attention as _OnnxAttention

_Reduction = Callable[[np.ndarray, tuple[int, ...], bool], np.ndarray]


class _Reduce(OpRun):
    """`axes` is an attribute or, later, an input; none at all means every axis."""

    reduction: ClassVar[_Reduction]

    def _run(
        self,
        data: np.ndarray,
        axes: np.ndarray | Sequence[int] | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> tuple[np.ndarray, ...]:
        places = () if axes is None else tuple(int(axis) for axis in np.asarray(axes).ravel())
        if not places:
            if noop_with_empty_axes:
                return (self._reduce_none(data),)
            places = tuple(range(data.ndim))
        result = type(self).reduction(data, places, bool(keepdims))
        return (np.asarray(result).astype(data.dtype),)

    def _reduce_none(self, data: np.ndarray) -> np.ndarray:
        """Each element reduced by itself."""
        one = type(self).reduction(data[..., None], (data.ndim,), False)
        return np.asarray(one).astype(data.dtype)


def _wide(data: np.ndarray) -> np.ndarray:
    """In the type to add up in: integers wrap around as they do in 64 bits."""
    return data if data.dtype.kind in "iub" else data.astype(np.float64)


def _log_sum_exp(data: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    x = data.astype(np.float64)
    top = x.max(axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.exp(x - top).sum(axes, keepdims=True)) + top
    return total if keep else total.squeeze(axes)


def _reduction(name: str, function: Callable[..., Any]) -> type[_Reduce]:
    return type(f"Reduce{name}", (_Reduce,), {"reduction": staticmethod(function)})


ReduceLogSum = _reduction(
    "LogSum", lambda x, axes, keep: np.log(x.astype(np.float64).sum(axes, keepdims=keep))
)
ReduceLogSumExp = _reduction("LogSumExp", _log_sum_exp)
ReduceSumSquare = _reduction(
    "SumSquare",
    lambda x, axes, keep: np.square(_wide(x)).sum(axes, keepdims=keep, dtype=_wide(x).dtype),
)


_FIRST_ALONG_ONE_AXIS = 13
"""Before this opset the shape was folded in two at the axis, and the second part was one row."""
_LEAST_DEVIATION = 1e-9
"""MeanVarianceNormalization adds it to the deviation that it divides by."""


class _AlongAxis(OpRun):
    """Rows of the input as the opset cuts them, each taken by itself.

    onnx's takes the last axis by default and any other alone, in all opsets.
    """

    def _run(self, x: np.ndarray, axis: int = -1) -> tuple[np.ndarray, ...]:
        if not x.size:
            return (x,)
        if self._schema.since_version < _FIRST_ALONG_ONE_AXIS:
            axis += x.ndim if axis < 0 else 0  # it may be x.ndim: each element is a row
            rows = self._rows(x.reshape(prod(x.shape[:axis]), -1))
            return (rows.reshape(x.shape).astype(x.dtype),)
        rows = self._rows(np.moveaxis(x, axis, -1))
        return (np.moveaxis(rows, -1, axis).astype(x.dtype),)

    def _rows(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Softmax(_AlongAxis):
    """exp(x) over its sum."""

    def _rows(self, x: np.ndarray) -> np.ndarray:
        powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


class LogSoftmax(_AlongAxis):
    """x less the logarithm of the sum; the logarithm of what has become 0 is not taken."""

    def _rows(self, x: np.ndarray) -> np.ndarray:
        shifted_rows: np.ndarray = x - x.max(-1, keepdims=True)
        return shifted_rows - np.log(np.exp(shifted_rows).sum(-1, keepdims=True))


class Hardmax(_AlongAxis):
    """1 at the first of the largest, else 0."""

    def _rows(self, x: np.ndarray) -> np.ndarray:
        one_hot = np.zeros_like(x)
        np.put_along_axis(one_hot, x.argmax(-1)[..., None], 1, -1)
        return one_hot


class BatchNormalization(OpRun):
    """By the given mean and variance, or in training by those of the batch.

    onnx's mixes the two below opset 14, and gives the running statistics in the type of x.
    """

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        bias: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        spatial: int = 1,
        is_test: int = 1,
        training_mode: int = 0,
    ) -> tuple[np.ndarray, ...]:
        several = len(self.onnx_node.output) > 1 and not training_mode
        if several or not spatial or not is_test:
            raise NotImplementedError("it normalises by given means and variances of channels only")
        running: tuple[np.ndarray, ...] = ()
        if training_mode:
            reduced_axes = (0, *range(2, x.ndim))
            batch_statistics = (
                x.mean(reduced_axes, dtype=np.float64),
                x.var(reduced_axes, dtype=np.float64),
            )
            running = tuple(
                (old * momentum + new * (1 - momentum)).astype(old.dtype)
                for old, new in zip((mean, variance), batch_statistics, strict=True)
            )
            mean, variance = batch_statistics
        channels = (-1, *(1 for _ in x.shape[2:]))
        scale, bias, mean, variance = (
            part.astype(np.float64).reshape(channels) for part in (scale, bias, mean, variance)
        )
        y = (x - mean) * (scale / np.sqrt(variance + epsilon)) + bias
        return (y.astype(x.dtype), *running[: len(self.onnx_node.output) - 1])


class InstanceNormalization(OpRun):
    """Mean 0 and variance 1 of each channel of each sample; onnx's computes in the type of x."""

    def _run(
        self, x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float = 1e-5
    ) -> tuple[np.ndarray, ...]:
        reduced_axes = tuple(range(2, x.ndim))
        channels = (-1, *(1 for _ in reduced_axes))
        wide = x.astype(np.float64)
        deviation = np.sqrt(wide.var(reduced_axes, keepdims=True) + epsilon)
        y = (wide - wide.mean(reduced_axes, keepdims=True)) / deviation
        return ((y * scale.reshape(channels) + bias.reshape(channels)).astype(x.dtype),)


class LpNormalization(OpRun):
    """x over the sum of absolute values (p 1) or the root of the sum of squares (p 2), or 0.

    onnx's does not take absolute values.
    """

    def _run(self, x: np.ndarray, axis: int = -1, p: int = 2) -> tuple[np.ndarray, ...]:
        wide = x.astype(np.float64)
        norm = np.linalg.norm(wide, p, axis, keepdims=True)
        return (np.divide(wide, norm, out=np.zeros_like(wide), where=norm != 0).astype(x.dtype),)


class LRN(OpRun):
    """Each element over a power of the squares in a window of channels.

    onnx's counts the channels by the size of the batch.
    """

    def _run(
        self,
        x: np.ndarray,
        alpha: float = 1e-4,
        beta: float = 0.75,
        bias: float = 1.0,
        size: int = 1,
    ) -> tuple[np.ndarray, ...]:
        wide = x.astype(np.float64)
        begin, end = (size - 1) // 2, size - 1 - (size - 1) // 2
        pads = [(0, 0), (begin, end), *((0, 0) for _ in x.shape[2:])]
        squares = np.pad(np.square(wide), pads)
        total = sum(squares[:, step : step + x.shape[1]] for step in range(size))
        return ((wide / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class LayerNormalization(OpRun):
    """Mean 0 and variance 1 over the axes from `axis` on, then scale and bias.

    onnx's gives the mean and the inverse deviation in the type of x, not in that of `stash_type`.
    """

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        bias: np.ndarray | None = None,
        axis: int = -1,
        epsilon: float = 1e-5,
        stash_type: int = 1,
    ) -> tuple[np.ndarray, ...]:
        wide = x.astype(np.float64)
        axes = tuple(range(axis % x.ndim, x.ndim))
        mean = wide.mean(axes, keepdims=True)
        inverse = 1 / np.sqrt(wide.var(axes, keepdims=True) + epsilon)
        y = (wide - mean) * inverse * scale
        if bias is not None:
            y = y + bias
        stash = helper.tensor_dtype_to_np_dtype(stash_type)
        outputs = (y.astype(x.dtype), mean.astype(stash), inverse.astype(stash))
        return outputs[: len(self.onnx_node.output)]


class MeanVarianceNormalization(OpRun):
    """Mean 0 and variance 1 over axes; onnx's takes float32 alone."""

    def _run(self, x: np.ndarray, axes: Sequence[int] | None = None) -> tuple[np.ndarray, ...]:
        reduced_axes = (0, 2, 3) if axes is None else tuple(axes)
        wide = x.astype(np.float64)
        deviation = wide.std(reduced_axes, keepdims=True)
        y = (wide - wide.mean(reduced_axes, keepdims=True)) / (deviation + _LEAST_DEVIATION)
        return (y.astype(x.dtype),)


_PRODUCT = 3
"""The place of that output."""


class Attention(_OnnxAttention):
    """onnx's gives the product after its soft cap where it is asked for before."""

    def _run(  # type: ignore[override]
        self,
        *inputs: np.ndarray,
        softcap: float | None = None,
        qk_matmul_output_mode: int | None = None,
        **settings: Any,
    ) -> tuple[np.ndarray, ...]:
        def attention(cap: float | None) -> list[np.ndarray]:
            compute: Any = super(Attention, self)._run
            return list(
                compute(
                    *inputs, softcap=cap, qk_matmul_output_mode=qk_matmul_output_mode, **settings
                )
            )

        results = attention(softcap)
        if softcap and not qk_matmul_output_mode and len(self.onnx_node.output) > _PRODUCT:
            results[_PRODUCT] = attention(None)[_PRODUCT]
        return tuple(results[: len(self.onnx_node.output)])
