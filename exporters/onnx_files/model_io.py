"""A user's .onnx file: its format and external weights, inputs, outputs and open axes, and the
checked copy in the store.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto
from onnx.external_data_helper import ExternalDataInfo, uses_external_data
from onnx.helper import tensor_dtype_to_np_dtype

from exporters.file_access import copy_file, file_sha256
from exporters.foreign_files import foreign, pointer
from exporters.onnx_files.ends import input_spec, is_fixed, output_spec
from exporters.onnx_files.engine import declare_outputs, ends
from exporters.onnx_files.graph import all_graphs, all_nodes, part
from exporters.onnx_files.input_roles import meant
from exporters.types import (
    ONNX_ENDING,
    ORT_ENDING,
    Dimension,
    ExportError,
    Made,
    NotBenchmarkable,
    TensorSpec,
    is_engine_format,
)
from exporters.validation import objection

LARGEST_PROTOBUF_BYTES = 2**31 - 1

_GRAPH_FIELD = 7  # ModelProto.graph in onnx.proto
_LAST_FIELD = 26  # the highest field number in ModelProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def check_whole(path: Path) -> None:
    """ExportError if the file is no ONNX model, is cut short, or is too large to be one."""
    try:
        status = path.stat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise ExportError(f"{path.name} is no file", "give the path of an .onnx file")
        if size > LARGEST_PROTOBUF_BYTES:
            raise ExportError(
                f"{path.name} has {size} bytes, and an ONNX file must be below 2 GiB",
                "save it with external data",
            )
        with path.open("rb") as file:
            _walk(file, size, path)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror})", "give the path of an .onnx file"
        ) from error


def fields(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields between two places: number, and where each begins, its content begins, and ends.

    EOFError for bytes that are cut short, ValueError for such that are no message.
    """
    while begin < end:
        file.seek(begin)
        number, kind = divmod(_varint(file), 8)
        content = file.tell()
        if kind == _VARINT:
            _varint(file)
            field_end = file.tell()
        elif kind in (_FIXED64, _FIXED32, _BYTES):
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind) or _varint(file)
            content = file.tell() if kind == _BYTES else content
            field_end = content + length
        else:
            raise ValueError(kind)
        yield number, begin, content, field_end
        begin = field_end
    if begin > end:
        raise EOFError


def _walk(file: BinaryIO, size: int, path: Path) -> None:
    name = path.name
    no_onnx = foreign(path) or ExportError(
        f"{name} is not an ONNX file", "give a model saved by onnx.save"
    )
    has_graph, needed = False, size + 1
    try:
        for number, _, _, end in fields(file, 0, size):
            if not 1 <= number <= _LAST_FIELD:
                raise no_onnx
            has_graph, needed = has_graph or number == _GRAPH_FIELD, max(end, size + 1)
    except ValueError:
        raise no_onnx from None
    except EOFError:
        if has_graph:
            raise ExportError(
                f"{name} is truncated: it has {size} bytes of at least {needed}", "copy it again"
            ) from None
    if not has_graph:
        raise no_onnx


def _varint(file: BinaryIO) -> int:
    """A base-128 integer, least significant group first; EOFError at the end of the file."""
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise EOFError
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise EOFError


_PACKED_BITS: dict[int, int] = {
    TensorProto.DataType.Value(name): bits
    for name, bits in (("INT4", 4), ("UINT4", 4), ("FLOAT4E2M1", 4), ("INT2", 2), ("UINT2", 2))
    if name in TensorProto.DataType.keys()  # noqa: SIM118 - an enum of protobuf, no dictionary
}


def external_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of the model, at any depth, whose values lie in another file."""
    for graph in all_graphs(model):
        yield from filter(uses_external_data, graph.initializer)
    for node in all_nodes(model):
        for attribute in node.attribute:
            yield from filter(uses_external_data, (attribute.t, *attribute.tensors))


def _bytes_of(tensor: TensorProto) -> int:
    """What its values take by shape and type; ExportError for a tensor that has none.

    Types of four bits and fewer are packed into whole bytes.
    """
    count = prod(tensor.dims)
    bits = _PACKED_BITS.get(tensor.data_type)
    try:
        if bits is None:
            bits = 8 * tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except (KeyError, ValueError, TypeError):
        bits = 0
    if min(tensor.dims, default=0) < 0 or bits == 0 or tensor.data_type == TensorProto.STRING:
        raise ExportError(
            f"the external weights {tensor.name!r} have a shape or type that no file holds",
            "save the model again with its external data",
        )
    return (count * bits + 7) // 8


def external_files(path: Path, model: ModelProto) -> dict[str, Path]:
    """The files that hold weights, by the place that the model names; ExportError for one that is
    not whole, or not in the model's folder."""
    files: dict[str, Path] = {}
    for tensor in external_tensors(model):
        try:
            info = ExternalDataInfo(tensor)
            file = _find_external(path, info.location)
            size = file.stat().st_size if file is not None and file.is_file() else None
        except (OSError, ValueError) as error:
            raise ExportError(
                f"{path.name} does not record where the weights of {tensor.name!r} are ({error})",
                "save it again with its external data",
            ) from None
        if not info.location:
            raise ExportError(
                f"{path.name} does not record where the weights of {tensor.name!r} are",
                "save it again with its external data",
            )
        if file is None:
            raise ExportError(
                f"{path.name} keeps the weights of {tensor.name!r} outside its own folder "
                f"({info.location!r})",
                "copy them into that folder, and save the model with their name there",
            )
        if size is None:
            raise ExportError(
                f"{path.name} needs the external data file {info.location!r}, which is not there",
                "copy it into the model's folder",
            ) from FileNotFoundError(str(file))
        offset, size_bytes = info.offset or 0, _bytes_of(tensor)
        length = info.length or size_bytes  # 0, as ONNX Runtime reads it, is all that it takes
        if offset < 0 or length != size_bytes:
            raise ExportError(
                f"{path.name} has malformed external data: the weights of {tensor.name!r} take "
                f"{size_bytes:,} bytes, and {length:,} at byte {offset:,} of {info.location!r} are "
                "named",
                "save it again with its external data",
            )
        if size < offset + length:
            raise pointer(file) or ExportError(
                f"the external data file {info.location!r} of {path.name} ends before the "
                f"weights of {tensor.name!r} do",
                "copy it again",
            )
        files[info.location] = file
    return files


def _find_external(path: Path, location: str) -> Path | None:
    """The file itself, every link followed, whether it is there or not; None for one outside.

    A download cache has links to the model and to its weights in one folder, and the files of both
    in another, under other names. So the weights are looked for where the model is named, then
    where its file lies; the name may lead out of neither folder, and a link only to the other.
    """
    named, real = path.absolute().parent, Path(os.path.realpath(path)).parent
    allowed_folders = (Path(os.path.realpath(named)), real)
    inside = None
    for folder in (named, real):
        joined = Path(os.path.normpath(folder / location))
        file = Path(os.path.realpath(folder / location))
        within = any(file.is_relative_to(allowed) for allowed in allowed_folders)
        if not (within and joined.is_relative_to(folder)):
            continue
        inside = inside or file
        if file.is_file():
            return file
    return inside


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
        if fault := pointer(path):
            raise fault
        return ends(path)
    check_whole(path)
    try:
        return onnx.load(path, format="protobuf", load_external_data=False)
    except Exception as error:
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from error


def describe(path: Path, model: ModelProto) -> OnnxFile:
    """As `inspect`, for a model already read."""
    graph = model.graph
    if not graph.output or not (graph.node or is_engine_format(path)):
        lacking = "no output" if graph.node else "an empty graph, without a node"
        raise NotBenchmarkable(
            f"{path.name} has {lacking}: there is nothing to measure", "export it again"
        )
    external = external_files(path, model)
    # Before IR 4 every initializer is also listed as an input; a constant is none.
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    graph_inputs = [value for value in model.graph.input if value.name not in constants]
    inputs = meant(input_specs(path, graph_inputs, model), model)
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
        unnamed=any(
            not _is_sized(d) for value in graph_inputs for d in value.type.tensor_type.shape.dim
        ),
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
    path: Path, graph_inputs: Sequence[ValueInfoProto], model: ModelProto
) -> tuple[TensorSpec, ...]:
    """The arrays that the graph's inputs are made of; NotBenchmarkable for one of a kind that
    cannot be fed. Inputs without a shape get one that `model`, the graph, takes."""
    return tuple(spec for value in graph_inputs for spec in input_spec(path, value, model))


def open_axes(inputs: Sequence[TensorSpec]) -> tuple[str, ...]:
    """The names without a size, in order of appearance."""
    return tuple(dict.fromkeys(d for spec in inputs for d in spec.shape if isinstance(d, str)))


def batch_of(inputs: Sequence[TensorSpec]) -> Dimension | None:
    """An axis called batch or the like, else the leading size that all inputs share.

    Leading sizes without a name are one batch, which the first of them stands for.
    """
    batch_axis = next((axis for axis in open_axes(inputs) if axis.lower() in _BATCH_NAMES), None)
    if batch_axis is not None:
        return batch_axis
    leading = dict.fromkeys(spec.shape[0] if spec.shape else None for spec in inputs)
    if len(leading) == 1 or all(isinstance(d, str) and is_unnamed(d, inputs) for d in leading):
        return next(iter(leading), None)
    return None


def is_unnamed(axis: str, inputs: Sequence[TensorSpec]) -> bool:
    """Whether the axis is called after an input and a place, by us or by torch."""
    return any(
        re.fullmatch(rf"{re.escape(spec.owner or spec.name)}(_dynamic_axes)?_\d+", axis)
        for spec in inputs
        if axis in spec.shape
    )


def sequence_of(axes: Sequence[str]) -> str | None:
    """The axis that is called sequence or the like."""
    return next((axis for axis in axes if axis.lower() in _SEQUENCE_NAMES), None)


def _is_sized(dimension: onnx.TensorShapeProto.Dimension) -> bool:
    return is_fixed(dimension) or bool(dimension.dim_param)


MODEL, OBJECTION = "model", "objection"


def copied(
    folder: Path,
    face: OnnxFile,
    proto: ModelProto,
    is_part: bool,
    is_put_in_order: bool,
) -> Made:
    """The graph and its weights.

    `proto` is the graph of `face`, and says where the store keeps its weights afterwards.
    `is_put_in_order` says that its nodes were not. The fact `OBJECTION` is what the checker objects
    to, "" for nothing; engines decide for themselves. The copy is checked, not the file: onnx
    refuses weights that are links or have several names, as those of download caches and backups
    do.
    """
    files = {}
    stored_names: dict[Path, str] = {}
    for data in dict.fromkeys(face.external.values()):
        copy = folder / "weights.bin"
        copy_file(data, copy)
        name = stored_names[data] = f"{file_sha256(copy)}{copy.suffix}"
        files[name] = copy.rename(folder / name)
    model = folder / f"model{ORT_ENDING if is_engine_format(face.path) else ONNX_ENDING}"
    if is_engine_format(face.path):
        copy_file(face.path, model)
    elif face.external or face.unnamed or is_part or is_put_in_order:
        for tensor in external_tensors(proto):
            for item in tensor.external_data:
                if item.key == "location":
                    item.value = stored_names[face.external[item.value]]
        model.write_bytes(proto.SerializeToString(deterministic=True))
    else:
        copy_file(face.path, model)
    objects = "" if is_engine_format(model) else objection(model)
    return Made({**files, MODEL: model}, {OBJECTION: objects})
