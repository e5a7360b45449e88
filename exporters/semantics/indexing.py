"""Operators that move elements by their indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_scatter_elements import scatter_elements


class GatherElements(OpRun):
    """output[i][j] = data[indices[i][j]][j] on axis 0; `indices` may be shorter on other axes.

    onnx's fails where the axis has 64 entries or more, is negative, or others are shorter.
    """

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray, ...]:
        axis %= data.ndim
        part = tuple(
            slice(None) if place == axis else slice(size)
            for place, size in enumerate(indices.shape)
        )
        # A negative index counts from the end, in numpy as in ONNX.
        return (np.take_along_axis(data[part], indices, axis),)


class Scatter(OpRun):
    """What ScatterElements is called below opset 11; onnx's evaluator does not know it."""

    def _run(
        self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int = 0
    ) -> tuple[np.ndarray, ...]:
        result: np.ndarray = scatter_elements(data, indices, updates, axis)  # type: ignore[no-untyped-call]
        return (result,)


class Unsqueeze(OpRun):
    """Below opset 13: all axes are positions in the output, in whatever order they stand.

    onnx's puts them in one after the other.
    """

    def _run(self, data: np.ndarray, axes: Sequence[int] = ()) -> tuple[np.ndarray, ...]:
        return (np.expand_dims(data, tuple(axes)),)
