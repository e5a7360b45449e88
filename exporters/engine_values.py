"""Inputs and outputs of types that numpy lacks, as values of ONNX Runtime."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exporters.plain_arrays import NARROW_TYPES, arrays_of

if TYPE_CHECKING:
    import onnxruntime

    from exporters.types import TensorSpec


def has_narrow(specs: Iterable[TensorSpec]) -> bool:
    """Whether one of these inputs and outputs is of a type that numpy lacks."""
    return any(spec.element for spec in specs)


def input_values(
    specs: Iterable[TensorSpec], arrays: Mapping[str, np.ndarray]
) -> dict[str, onnxruntime.OrtValue]:
    """A tensor for each input, in the type that the graph declares."""
    import onnxruntime

    values: dict[str, onnxruntime.OrtValue] = {}
    for spec in specs:
        array = np.ascontiguousarray(arrays[spec.name])
        if spec.element:
            narrow = NARROW_TYPES[spec.element]
            values[spec.name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                narrow.pack(array), narrow.number
            )
        else:
            values[spec.name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return values


def output_arrays(names: Sequence[str], values: Iterable[Any]) -> dict[str, np.ndarray]:
    """The outputs as arrays, of values of the Python interface or of the binding below it."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in zip(names, values, strict=True):
        kind = str(value.data_type())
        narrow = NARROW_TYPES.get(kind.removeprefix("tensor(").removesuffix(")"))
        if narrow is None:
            arrays |= arrays_of(name, value.numpy())
            continue
        shape = tuple(value.shape())
        count_bytes = -(-int(np.prod(shape)) * narrow.bits // 8)
        content = ctypes.string_at(value.data_ptr(), count_bytes) if count_bytes else b""
        arrays[name] = narrow.unpack(content, shape)
    return arrays
