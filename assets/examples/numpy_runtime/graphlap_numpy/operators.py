"""ONNX operators by numpy: inputs, attributes and the array to write to, None for a new one.

Products are computed by `einsum`, because numpy's `matmul` takes as many threads as its library
likes, and a case says how many may be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Inputs = Sequence[Any]
Attributes = Mapping[str, Any]
Operator = Callable[[Inputs, Attributes, np.ndarray | None], np.ndarray]


def _of(function: Callable[..., np.ndarray]) -> Operator:
    """A numpy function that means the same as the operator and has no attributes."""
    return lambda inputs, _, out: function(*inputs, out=out)


def _matmul(inputs: Inputs, _: Attributes, out: np.ndarray | None) -> np.ndarray:
    a, b = inputs
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("a product of vectors is not computed")
    return np.einsum("...ij,...jk->...ik", a, b, out=out)


def _gemm(inputs: Inputs, attributes: Attributes, out: np.ndarray | None) -> np.ndarray:
    a, b, *c = inputs
    if attributes.get("beta", 1.0) != 1.0:
        raise ValueError("only a beta of 1 is computed")
    rows = [1, 0] if attributes.get("transA") else [0, 1]
    columns = [2, 1] if attributes.get("transB") else [1, 2]
    product = np.einsum(a, rows, b, columns, [0, 2], out=out)
    product *= np.float32(attributes.get("alpha", 1.0))
    if c and c[0] is not None:
        product += c[0]
    return product


def _identity(inputs: Inputs, _: Attributes, out: np.ndarray | None) -> np.ndarray:
    result = np.empty_like(inputs[0]) if out is None else out
    np.copyto(result, inputs[0])
    return result


def _relu(inputs: Inputs, _: Attributes, out: np.ndarray | None) -> np.ndarray:
    return np.maximum(inputs[0], 0, out=out)


def _sigmoid(inputs: Inputs, _: Attributes, out: np.ndarray | None) -> np.ndarray:
    """By the tangent, which does not overflow: s(x) = (1 + tanh(x / 2)) / 2."""
    result = np.multiply(inputs[0], np.float32(0.5), out=out)
    np.tanh(result, out=result)
    result += 1
    result *= np.float32(0.5)
    return result


def _gather(inputs: Inputs, attributes: Attributes, out: np.ndarray | None) -> np.ndarray:
    data, indices = inputs
    # Negative indices count from the end, in ONNX too; any other mode than `raise` writes in place.
    return np.take(data, indices, attributes.get("axis", 0), out=out, mode="wrap")


OPERATORS: dict[str, Operator] = {
    "Add": _of(np.add),
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": _identity,
    "MatMul": _matmul,
    "Mul": _of(np.multiply),
    "Not": _of(np.logical_not),
    "Relu": _relu,
    "Sigmoid": _sigmoid,
    "Sub": _of(np.subtract),
    "Tanh": _of(np.tanh),
}
