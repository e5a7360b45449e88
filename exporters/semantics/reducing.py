"""Reductions over axes, in the type of their input.

onnx's give another type for squares of integers, and no array where all axes are reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from onnx.reference.op_run import OpRun

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
                return (self._unreduced(data),)
            places = tuple(range(data.ndim))
        result = type(self).reduction(data, places, bool(keepdims))
        return (np.asarray(result).astype(data.dtype),)

    def _unreduced(self, data: np.ndarray) -> np.ndarray:
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
