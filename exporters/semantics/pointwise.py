"""Operators that compute each element by itself."""

from __future__ import annotations

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19

_FIRST_WITH_BOOLEAN_MASK = 10
_FIRST_BY_TYPE = 11
"""Before this opset the default bounds of Clip were those of float32, whatever the type."""


class Mean(OpRun):
    """The mean of operands of any shapes that broadcast; onnx's writes into the first."""

    def _run(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        total: np.ndarray = np.asarray(sum(operands))
        return ((total / len(operands)).astype(operands[0].dtype),)


class DequantizeLinear(DequantizeLinear_19):
    """Below opset 19, where onnx's evaluator has none; the older definitions take less."""


class Clip(OpRun):
    """Between bounds, of which a missing one is the last number of the type.

    Below opset 11 it is the last number of float32, which is an infinity in float16.
    """

    def _run(
        self,
        x: np.ndarray,
        min: np.ndarray | float | None = None,
        max: np.ndarray | float | None = None,
    ) -> tuple[np.ndarray, ...]:
        if x.dtype.kind != "f":
            limits: np.finfo | np.iinfo = np.iinfo(x.dtype)
        elif self._schema.since_version < _FIRST_BY_TYPE:
            limits = np.finfo(np.float32)
        else:
            limits = np.finfo(x.dtype)
        low = limits.min if min is None else np.maximum(min, limits.min)
        high = limits.max if max is None else np.minimum(max, limits.max)
        with np.errstate(over="ignore"):
            lowest, highest = np.asarray(low).astype(x.dtype), np.asarray(high).astype(x.dtype)
        # The upper bound is the one that holds where the bounds are exchanged.
        return (np.minimum(np.maximum(x, lowest), highest),)


class Softsign(OpRun):
    """x over 1 + |x|; onnx's gives no array for a scalar."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.asarray(x / (1 + np.abs(x))).astype(x.dtype),)


class Det(OpRun):
    """The determinant of each matrix; onnx's gives no array for a single one."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype),)


class Dropout(OpRun):
    """Below opset 12: nothing is dropped, and the mask has the type that the version says."""

    def _run(self, x: np.ndarray, ratio: float = 0.5) -> tuple[np.ndarray, ...]:
        kind = x.dtype if self._schema.since_version < _FIRST_WITH_BOOLEAN_MASK else np.bool_
        return (x, np.ones(x.shape, kind))[: len(self.onnx_node.output)]
