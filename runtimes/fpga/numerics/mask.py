"""Masks: truth values that floats give or that arrive, and what chooses by them.

A comparison sees operands that are rounded to bf16. Masks of integers alone are made by the
host; once made, the card holds one as it holds any tensor.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from runtimes.fpga.numerics.bf16 import round_bf16
from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator

_BINARY: dict[str, Kernel] = {
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}


def _enter(name: str, function: Kernel, oldest: int = 1) -> None:
    operator(name, oldest=oldest, exact=True)(lambda _call: function)


for _name, _function in _BINARY.items():
    _enter(_name, _function, oldest=7)

_enter("Not", np.logical_not)
_enter("IsNaN", np.isnan)
_enter("Where", np.where)


@operator("IsInf", exact=True)
def is_inf(call: Call) -> Kernel:
    positive = bool(call.integer("detect_positive", 1))
    negative = bool(call.integer("detect_negative", 1))

    def run(x: np.ndarray) -> np.ndarray:
        wanted: np.ndarray = np.where(x > 0, positive, negative)
        return np.logical_and(np.isinf(x), wanted)

    return run


@operator("Cast", oldest=6, exact=True, indices=(0,))
def cast(call: Call) -> Kernel:
    """Whole numbers and masks become bf16, floats and whole numbers become masks."""
    match call.integer("to", TensorProto.UNDEFINED):
        case TensorProto.FLOAT:
            return lambda x: round_bf16(x.astype(np.float32))
        case TensorProto.BOOL:
            return lambda x: x.astype(np.bool_)
    raise Refused("the card holds floats and masks only")
