"""Matrix products: bf16 operands, float32 accumulation."""

from __future__ import annotations

import numpy as np

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator


def _refuse_empty(call: Call) -> None:
    if 0 in (*call.shape(0), *call.shape(1)):
        raise Refused("one of its operands has no elements")


@operator("MatMul")
def matmul(call: Call) -> Kernel:
    _refuse_empty(call)
    return np.matmul


@operator("Gemm", oldest=7)
def gemm(call: Call) -> Kernel:
    """alpha * A' B' + beta * C with A' [M,K], B' [K,N], C broadcast to [M,N]."""
    _refuse_empty(call)
    alpha, beta = call.number("alpha", 1.0), call.number("beta", 1.0)
    transpose_a, transpose_b = call.integer("transA", 0), call.integer("transB", 0)

    def run(a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None) -> np.ndarray:
        y = (a.T if transpose_a else a) @ (b.T if transpose_b else b)
        if alpha != 1:
            y *= alpha
        if c is not None and beta != 0:
            y += c if beta == 1 else beta * c
        return y

    return run
