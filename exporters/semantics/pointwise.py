"""Operators that compute each element by itself."""

from __future__ import annotations

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19


class Mean(OpRun):
    """The mean of operands of any shapes that broadcast; onnx's writes into the first."""

    def _run(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        total: np.ndarray = np.asarray(sum(operands))
        return ((total / len(operands)).astype(operands[0].dtype),)


class DequantizeLinear(DequantizeLinear_19):
    """Below opset 19, where onnx's evaluator has none; the older definitions take less."""
