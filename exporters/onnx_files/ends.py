"""The inputs and outputs of a graph as specs, from what the file declares of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto

from exporters.onnx_files.graph import ShapeConflict, inferred
from exporters.plain_arrays import NARROW_TYPES
from exporters.types import TEXT, Dimension, ExportError, NotBenchmarkable, TensorSpec

_NUMPY_KINDS = "fiub"
SEQUENCE_ENTRIES = 2
"""The length of a sequence that is an input."""
MAP_ENTRIES = 3
"""The size of a map that is an input of a graph without a vocabulary."""
_RANKS = (2, 1, 3, 4, 5, 0)
"""The number of dimensions of an input that declares none: the first that the graph takes."""


def input_spec(path: Path, value: ValueInfoProto, model: ModelProto) -> Iterator[TensorSpec]:
    """The arrays that an input is made of: one, or the parts of a sequence or map."""
    kind = _require_tensor(path, value.name, value.type)
    if kind.WhichOneof("value") == "sequence_type":
        entry = _require_tensor(path, value.name, kind.sequence_type.elem_type)
        for place in range(SEQUENCE_ENTRIES):
            name = f"{value.name}[{place}]"
            yield _tensor(path, name, entry, value.name, fallback_type=lambda: 1)
        return
    if kind.WhichOneof("value") == "map_type":
        keys = TypeProto()
        keys.tensor_type.elem_type = kind.map_type.key_type
        for part, part_type in (("keys", keys), ("values", kind.map_type.value_type)):
            dtype, element = _element(path, value.name, part_type)
            yield TensorSpec(
                f"{value.name}.{part}",
                dtype,
                (MAP_ENTRIES,),
                count_up=part == "keys",
                owner=value.name,
                element=element,
            )
        return
    yield _tensor(path, value.name, kind, "", fallback_type=lambda: _rank(model, value))


def output_spec(path: Path, value: ValueInfoProto) -> TensorSpec:
    """An output; a sequence or map stands as a scalar of its elements' type. It owns itself where
    it is no tensor that every run returns."""
    kind = _require_tensor(path, value.name, value.type)
    if kind.WhichOneof("value") == "tensor_type":
        owner = value.name if value.type.HasField("optional_type") else ""
        return _tensor(path, value.name, kind, owner, fallback_type=lambda: 1)
    while (kind_name := kind.WhichOneof("value")) != "tensor_type":
        kind = (
            kind.sequence_type.elem_type
            if kind_name == "sequence_type"
            else kind.map_type.value_type
        )
        kind = _require_tensor(path, value.name, kind)
    dtype, element = _element(path, value.name, kind)
    return TensorSpec(value.name, dtype, (), owner=value.name, element=element)


def has_shape(value: ValueInfoProto) -> bool:
    """Whether the number of an input's dimensions is declared, where it is a tensor."""
    kind = value.type
    return not kind.HasField("tensor_type") or kind.tensor_type.HasField("shape")


def is_fixed(dimension: TensorShapeProto.Dimension) -> bool:
    """Zero is a size when it is written down; some exporters write -1 for an open one."""
    return dimension.HasField("dim_value") and dimension.dim_value >= 0


def _require_tensor(path: Path, name: str, kind: TypeProto) -> TypeProto:
    """The type of a value that is present; NotBenchmarkable for one without a type."""
    if not isinstance(name, str):  # what protobuf gives for bytes that are no text
        raise ExportError(
            f"{path.name} has an input or output whose name is no text", "export it again"
        )
    while kind.WhichOneof("value") == "optional_type":
        kind = kind.optional_type.elem_type
    if kind.WhichOneof("value") not in ("tensor_type", "sequence_type", "map_type"):
        declared = str(kind.WhichOneof("value") or "untyped").removesuffix("_type")
        raise NotBenchmarkable(
            f"{name!r} of {path.name} is of kind {declared}",
            "only tensors, sequences and maps can be timed",
        )
    return kind


def _tensor(
    path: Path, name: str, kind: TypeProto, owner: str, fallback_type: Callable[[], int]
) -> TensorSpec:
    """A tensor; `fallback_type` gives the number of its dimensions where none is declared."""
    (dtype, element), axis = _element(path, name, kind), owner or name
    if not kind.tensor_type.HasField("shape"):
        shape: tuple[Dimension, ...] = tuple(f"{axis}_{place}" for place in range(fallback_type()))
    else:
        shape = tuple(
            d.dim_value if is_fixed(d) else (d.dim_param or f"{axis}_{place}")
            for place, d in enumerate(kind.tensor_type.shape.dim)
        )
    if owner and element:
        raise NotBenchmarkable(
            f"{name!r} of {path.name} is a sequence or optional value of {element}",
            "only tensors of that type can be timed",
        )
    return TensorSpec(name, dtype, shape, owner=owner, element=element)


def _element(path: Path, name: str, kind: TypeProto) -> tuple[str, str]:
    """The dtype and element of a tensor's spec; NotBenchmarkable for other types."""
    elements = kind.tensor_type.elem_type
    if elements == TensorProto.STRING:
        return TEXT, ""
    if elements not in TensorProto.DataType.values():
        raise NotBenchmarkable(
            f"{name!r} of {path.name} holds elements of the type {elements}, which this onnx does "
            "not know",
            "export the file again, or install a newer onnx",
        )
    element = TensorProto.DataType.Name(elements).lower()
    if element in NARROW_TYPES:
        return NARROW_TYPES[element].held_as, element
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(elements)
    except KeyError:
        dtype = np.dtype(object)
    # Floats of ml_dtypes have the kind "f" too, but no .npz can hold them.
    if dtype.kind not in _NUMPY_KINDS or dtype.isbuiltin != 1:
        raise NotBenchmarkable(
            f"{name!r} of {path.name} holds {element}",
            "only texts, numpy's numbers, bfloat16, float8 and 2- or 4-bit integers can be timed",
        )
    return str(dtype.name), ""


def _rank(model: ModelProto, value: ValueInfoProto) -> int:
    """The first number of dimensions with which ONNX's shape inference accepts the graph."""
    trial = ModelProto()
    trial.CopyFrom(model)
    tensor = next(v for v in trial.graph.input if v.name == value.name).type.tensor_type
    for rank in _RANKS:
        tensor.shape.Clear()
        tensor.shape.SetInParent()
        for place in range(rank):
            tensor.shape.dim.add(dim_param=f"{value.name}_{place}")
        try:
            inferred(trial, {f"{value.name}_0": 1})
        except ShapeConflict:
            continue
        return rank
    return _RANKS[0]
