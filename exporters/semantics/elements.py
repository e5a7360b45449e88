"""Operators on single elements: computed by themselves, moved by their indices, and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19
from onnx.reference.ops.op_scatter_elements import scatter_elements

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


class Squeeze(OpRun):
    """Below opset 13: axes are places in the input; onnx's counts some in what is left."""

    def _run(
        self, data: np.ndarray, axes: np.ndarray | Sequence[int] | None = None
    ) -> tuple[np.ndarray, ...]:
        axis_list = _as_list(axes)
        return (data.squeeze() if not axis_list else data.squeeze(tuple(axis_list)),)


class Unsqueeze(OpRun):
    """Below opset 13: all axes are positions in the output, in whatever order they stand.

    onnx's puts them in one after the other.
    """

    def _run(self, data: np.ndarray, axes: Sequence[int] = ()) -> tuple[np.ndarray, ...]:
        return (np.expand_dims(data, tuple(axes)),)


class Slice(OpRun):
    """Bounds are clamped by the direction of the step, as the definition says.

    onnx's takes Python's slices, which count a bound twice from the end.
    """

    def _run(
        self, data: np.ndarray, *bounds: np.ndarray | None, **attributes: Sequence[int] | None
    ) -> tuple[np.ndarray, ...]:
        # Below opset 10 all are attributes.
        names = ("starts", "ends", "axes", "steps")
        parameters = dict(zip(names, bounds, strict=False)) | attributes
        starts, ends, axes, steps = (_as_list(parameters.get(name)) for name in names)
        starts, ends = starts or [], ends or []
        index = [slice(None)] * data.ndim
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            axis = axes[place] if axes else place
            index[axis] = _places(data.shape[axis], start, end, steps[place] if steps else 1)
        return (data[tuple(index)],)


def _as_list(values: np.ndarray | Sequence[int] | None) -> list[int] | None:
    return None if values is None else [int(value) for value in np.asarray(values).ravel()]


def _places(size: int, start: int, end: int, step: int) -> slice:
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step < 0:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
        return slice(start, None if end < 0 else end, step) if size else slice(0)
    return slice(min(max(start, 0), size), min(max(end, 0), size), step)


class Shape(OpRun):
    """A part of the shape, whose bounds are clamped; onnx's takes them as Python's."""

    def _run(
        self, data: np.ndarray, end: int | None = None, start: int | None = None
    ) -> tuple[np.ndarray, ...]:
        first, last = start or 0, data.ndim if end is None else end
        return (np.array(data.shape[_places(data.ndim, first, last, 1)], np.int64),)


class Flatten(OpRun):
    """Two axes; onnx's cannot infer one of them for a tensor without elements."""

    def _run(self, data: np.ndarray, axis: int = 1) -> tuple[np.ndarray, ...]:
        axis += data.ndim if axis < 0 else 0
        return (data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:])),)


class OneHot(OpRun):
    """`on` where an index is, `off` elsewhere; an index out of range is nowhere.

    onnx's takes no index of float and no single one.
    """

    def _run(
        self, indices: np.ndarray, depth: np.ndarray, values: np.ndarray, axis: int = -1
    ) -> tuple[np.ndarray, ...]:
        count = int(np.asarray(depth).item())
        classes = indices.astype(np.int64)
        classes = np.where((classes < -count) | (classes >= count), -1 - count, classes)
        classes = np.where((classes < 0) & (classes >= -count), classes + count, classes)
        is_class = classes[..., None] == np.arange(count)
        one_hot = np.where(is_class, values[1], values[0]).astype(values.dtype)
        return (np.moveaxis(one_hot, -1, axis),)


class Unique(OpRun):
    """In ascending order, or in that of the first occurrence.

    onnx's takes the elements of the latter along the first axis, and sorts where nothing but the
    elements is asked for.
    """

    def _run(
        self, x: np.ndarray, axis: int | None = None, sorted: int = 1
    ) -> tuple[np.ndarray, ...]:
        flat, unique_axis = (x.ravel(), 0) if axis is None else (x, axis)
        y, first, inverse, counts = np.unique(
            flat, return_index=True, return_inverse=True, return_counts=True, axis=unique_axis
        )
        order = np.arange(len(first)) if sorted else np.argsort(first)
        results = (
            np.take(y, order, unique_axis),
            first[order].astype(np.int64),
            np.argsort(order)[inverse.ravel()].astype(np.int64),
            counts[order].astype(np.int64),
        )
        return results[: len(self.onnx_node.output)]


_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}


class StringNormalizer(OpRun):
    """Elements that are no stop words, in one case.

    onnx's takes accents and empty texts away too, and stop words out of longer texts.
    """

    def _run(
        self,
        x: np.ndarray,
        case_change_action: str = "NONE",
        is_case_sensitive: int = 0,
        locale: str | None = None,
        stopwords: Sequence[str] | None = None,
    ) -> tuple[np.ndarray, ...]:
        change = _CASES[case_change_action]
        key = str if is_case_sensitive else str.lower
        stops = {key(word) for word in stopwords or ()}
        remaining = [change(text) for text in map(str, x.ravel()) if key(text) not in stops]
        result = np.array(remaining or [""], object)
        return (result.reshape(1, -1) if x.ndim > 1 else result,)


class StringSplit(OpRun):
    """Parts of each text along a new axis, and their number; onnx's fails for a single text."""

    def _run(
        self, x: np.ndarray, delimiter: str | None = None, maxsplit: int | None = None
    ) -> tuple[np.ndarray, ...]:
        most = -1 if maxsplit is None else maxsplit
        # Between words, white space at either end counts for nothing.
        parts = [
            str(text).split(delimiter, most) if delimiter else str(text).strip().split(None, most)
            for text in x.ravel()
        ]
        width = max(map(len, parts), default=0)
        rows = np.array([p + [""] * (width - len(p)) for p in parts], object)
        counts = np.array([len(p) for p in parts], np.int64)
        return rows.reshape(*x.shape, width), counts.reshape(x.shape)
