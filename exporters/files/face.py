"""A user's .onnx: what it takes and gives, which axes are open, and what is wrong with it.

Nothing here runs the graph or imports an engine, so the plan stage can ask too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto, ValueInfoProto

from exporters.files.ends import input_spec, is_fixed, output_spec
from exporters.files.engine import declare_outputs, ends, is_engine_format
from exporters.files.external import external_files
from exporters.files.meaning import meant
from exporters.files.part import part
from exporters.files.wire import check_whole
from exporters.types import Dimension, ExportError, TensorSpec

_BATCH_NAMES = frozenset({"batch", "batch_size", "batchsize", "n", "b", "bs"})
_SEQUENCE_NAMES = frozenset(
    {"sequence", "sequence_length", "seq", "seq_len", "seq_length", "time", "t"}
)


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
    no part lies between, and NotBenchmarkable for inputs or outputs that no array can hold.
    """
    model = read(path)
    declare_outputs(path, model)
    if from_nodes or to_nodes:
        model = part(path.name, model, from_nodes, to_nodes)
    return describe(path, model)


def read(path: Path) -> ModelProto:
    """The parsed file without its external weights; ExportError if it is damaged.

    Of a file in ONNX Runtime's own format the inputs and outputs alone.
    """
    if is_engine_format(path):
        return ends(path)
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
    inputs = meant(input_specs(path, given, model), model.graph)
    axes = open_axes(inputs)
    return OnnxFile(
        path=path,
        opset=next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0),
        inputs=inputs,
        outputs=tuple(output_spec(path, value) for value in model.graph.output),
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


def input_specs(
    path: Path, given: Sequence[ValueInfoProto], model: ModelProto
) -> tuple[TensorSpec, ...]:
    """The arrays that the graph's inputs are made of; NotBenchmarkable for one of a kind that
    cannot be fed. Inputs without a shape get one that `model`, the graph, takes."""
    return tuple(spec for value in given for spec in input_spec(path, value, model))


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


def _is_sized(dimension: onnx.TensorShapeProto.Dimension) -> bool:
    return is_fixed(dimension) or bool(dimension.dim_param)
