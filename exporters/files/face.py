"""A user's .onnx: what it takes and gives, which axes are open, and what is wrong with it.

Nothing here runs the graph or imports an engine, so the plan stage can ask too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto

from exporters.files.external import external_files
from exporters.files.meaning import meant
from exporters.files.part import part
from exporters.files.wire import check_whole
from exporters.types import Dimension, ExportError, NotBenchmarkable, TensorSpec

_BATCH_NAMES = frozenset({"batch", "batch_size", "batchsize", "n", "b", "bs"})
_SEQUENCE_NAMES = frozenset(
    {"sequence", "sequence_length", "seq", "seq_len", "seq_length", "time", "t"}
)
_NUMPY_KINDS = "fiub"


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """The face of a user's graph.

    `axes` are the names without a size, in order of appearance; `batch` and `sequence` are
    the axis, or the fixed size, that plays the part. `external` are the files that hold
    weights, by the place in the model's folder that the graph names. `unnamed` says that some
    open dimension had no name of its own and was given `INPUT_POSITION`.
    """

    path: Path
    opset: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    batch: Dimension | None
    sequence: Dimension | None
    external: Mapping[str, Path]
    unnamed: bool


def inspect(path: Path, from_nodes: Sequence[str] = (), to_nodes: Sequence[str] = ()) -> OnnxFile:
    """Read the face of the graph, or of the part between the nodes, without external weights.

    Raises ExportError for a file that cannot be a model (not ONNX, truncated, 2 GiB or
    more, external data missing, too short or outside the file's folder) and for nodes that
    no part lies between, and NotBenchmarkable for inputs or outputs that are no plain
    numeric tensors.
    """
    model = read(path)
    if from_nodes or to_nodes:
        model = part(path.name, model, from_nodes, to_nodes)
    return describe(path, model)


def read(path: Path) -> ModelProto:
    """The parsed file without its external weights; ExportError if it is damaged."""
    check_whole(path)
    try:
        return onnx.load(path, format="protobuf", load_external_data=False)
    except Exception as error:
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from error


def describe(path: Path, model: ModelProto) -> OnnxFile:
    """As `inspect`, for a model already read."""
    external = external_files(path, model)
    # Before IR 4 every initializer is also listed as an input; a constant is none.
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    given = [value for value in model.graph.input if value.name not in constants]
    inputs = meant(input_specs(path, given), model.graph)
    axes = open_axes(inputs)
    return OnnxFile(
        path=path,
        opset=next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0),
        inputs=inputs,
        outputs=tuple(_spec(path, value) for value in model.graph.output),
        axes=axes,
        batch=batch_of(inputs),
        sequence=sequence_of(axes),
        external=external,
        unnamed=any(not _is_sized(d) for value in given for d in value.type.tensor_type.shape.dim),
    )


def name_open_dimensions(model: ModelProto, inputs: Sequence[TensorSpec]) -> None:
    """Write the names that `describe` gave to nameless open input dimensions into the model."""
    shapes = {spec.name: spec.shape for spec in inputs}
    for value in model.graph.input:
        for dimension, size in zip(
            value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False
        ):
            if isinstance(size, str):
                dimension.dim_param = size


def input_specs(path: Path, given: Sequence[ValueInfoProto]) -> tuple[TensorSpec, ...]:
    """The graph's inputs; NotBenchmarkable for one that is no plain tensor with a shape."""
    for value in given:
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            raise NotBenchmarkable(
                f"input {value.name!r} of {path.name} does not declare its number of dimensions",
                "declare its shape, with names for the open dimensions",
            )
    return tuple(_spec(path, value) for value in given)


def open_axes(inputs: Sequence[TensorSpec]) -> tuple[str, ...]:
    """The names without a size, in order of appearance."""
    return tuple(dict.fromkeys(d for spec in inputs for d in spec.shape if isinstance(d, str)))


def batch_of(inputs: Sequence[TensorSpec]) -> Dimension | None:
    """An axis called batch or the like, else the leading size that all inputs share."""
    named = next((axis for axis in open_axes(inputs) if axis.lower() in _BATCH_NAMES), None)
    if named is not None:
        return named
    leading = {spec.shape[0] if spec.shape else None for spec in inputs}
    return leading.pop() if len(leading) == 1 else None


def sequence_of(axes: Sequence[str]) -> str | None:
    """The axis that is called sequence or the like."""
    return next((axis for axis in axes if axis.lower() in _SEQUENCE_NAMES), None)


def _spec(path: Path, value: ValueInfoProto) -> TensorSpec:
    if not isinstance(value.name, str):  # what protobuf gives for bytes that are no text
        raise ExportError(
            f"{path.name} has an input or output whose name is no text", "export it again"
        )
    if value.type.WhichOneof("value") != "tensor_type":
        kind = str(value.type.WhichOneof("value") or "untyped").removesuffix("_type")
        raise NotBenchmarkable(
            f"{value.name!r} of {path.name} is of kind {kind}", "only plain tensors can be timed"
        )
    tensor = value.type.tensor_type
    if tensor.elem_type not in TensorProto.DataType.values():
        raise NotBenchmarkable(
            f"{value.name!r} of {path.name} holds elements of the type {tensor.elem_type}, which "
            "this onnx does not know",
            "export the file again, or install a newer onnx",
        )
    element = TensorProto.DataType.Name(tensor.elem_type)
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    except KeyError:
        dtype = np.dtype(object)
    # The 8-bit and 4-bit floats of ml_dtypes say kind "f" too, but no .npz can hold them.
    if dtype.kind not in _NUMPY_KINDS or dtype.isbuiltin != 1:
        raise NotBenchmarkable(
            f"{value.name!r} of {path.name} holds {element.lower()}",
            "only integer, boolean and float16 to float64 tensors can be timed",
        )
    shape = tuple(
        d.dim_value if _is_fixed(d) else (d.dim_param or f"{value.name}_{position}")
        for position, d in enumerate(tensor.shape.dim)
    )
    return TensorSpec(value.name, dtype.name, shape)


def _is_fixed(dimension: onnx.TensorShapeProto.Dimension) -> bool:
    """Zero is a size when it is written down; some exporters write -1 for an open one."""
    return dimension.HasField("dim_value") and dimension.dim_value >= 0


def _is_sized(dimension: onnx.TensorShapeProto.Dimension) -> bool:
    return _is_fixed(dimension) or bool(dimension.dim_param)
