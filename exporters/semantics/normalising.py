"""Operators that weigh elements against others of their row, channel or norm."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx.reference.op_run import OpRun

_FIRST_ALONG_ONE_AXIS = 13
"""Before this opset the shape was folded in two at the axis, and the second part was one row."""


class _AlongAxis(OpRun):
    """Rows of the input as the opset cuts them, each taken by itself.

    onnx's takes the last axis by default and any other alone, in all opsets.
    """

    def _run(self, x: np.ndarray, axis: int = -1) -> tuple[np.ndarray, ...]:
        if not x.size:
            return (x,)
        if self._schema.since_version < _FIRST_ALONG_ONE_AXIS:
            axis %= x.ndim + 1
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
        lowered: np.ndarray = x - x.max(-1, keepdims=True)
        return lowered - np.log(np.exp(lowered).sum(-1, keepdims=True))


class Hardmax(_AlongAxis):
    """1 at the first of the largest, else 0."""

    def _rows(self, x: np.ndarray) -> np.ndarray:
        marked = np.zeros_like(x)
        np.put_along_axis(marked, x.argmax(-1)[..., None], 1, -1)
        return marked


class BatchNormalization(OpRun):
    """Below opset 14, with one output: mean and variance are those given.

    onnx's mixes those of the batch in.
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
    ) -> tuple[np.ndarray, ...]:
        if len(self.onnx_node.output) > 1 or not spatial or not is_test:
            raise NotImplementedError("it normalises by given means and variances of channels only")
        channels = (-1, *(1 for _ in x.shape[2:]))
        factor = (scale / np.sqrt(variance + epsilon)).reshape(channels)
        y = (x - mean.reshape(channels)) * factor + bias.reshape(channels)
        return (y.astype(x.dtype),)


class LpNormalization(OpRun):
    """x over the sum of absolute values (p 1) or the root of the sum of squares (p 2), or 0.

    onnx's does not take absolute values.
    """

    def _run(self, x: np.ndarray, axis: int = -1, p: int = 2) -> tuple[np.ndarray, ...]:
        norm = np.linalg.norm(x, p, axis, keepdims=True)
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0),)
