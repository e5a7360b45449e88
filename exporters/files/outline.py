"""What a plan must know of a user's .onnx, its inputs and open axes, read without its weights.

Of the file only the graph's inputs and the names of its constants are read, wherever they
lie in it: a plan of a hundred large files reads a few kilobytes of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import ModelProto, ValueInfoProto

from exporters.files.assumed_sizes import assumed_sizes, sums
from exporters.files.ends import has_shape
from exporters.files.engine import is_engine_format
from exporters.files.face import (
    batch_of,
    input_specs,
    inspect,
    name_open_dimensions,
    open_axes,
    read,
    sequence_of,
)
from exporters.files.outline_request import Outline, OutlineRequest
from exporters.files.part import part
from exporters.files.skeleton import read_skeleton
from exporters.files.wire import check_whole, fields
from exporters.types import ExportError

# Field numbers of onnx.proto: ModelProto, GraphProto, SparseTensorProto, TensorProto.
_GRAPH = 7
_INITIALIZER, _INPUT, _SPARSE_INITIALIZER = 5, 11, 15
_VALUES = 1
_NAME = 8

_LARGEST_INPUT_BYTES = 2**20


def outline(request: OutlineRequest) -> Outline:
    """ExportError for a damaged file, for nodes that no part lies between and, looked at closely,
    for missing weights; NotBenchmarkable for inputs that no array can hold.

    What may be wrong elsewhere in the file is found by its export.
    """
    path = Path(request.path)
    is_part = bool(request.from_nodes or request.to_nodes)
    if request.closely or is_part:
        inputs = inspect(path, request.from_nodes, request.to_nodes).inputs
    elif is_engine_format(path):
        model = read(path)
        inputs = input_specs(path, model.graph.input, model)
    else:
        given = _inputs(path)
        # The graph itself is read only where an input has to have a shape that it takes.
        is_declared = all(map(has_shape, given))
        inputs = input_specs(path, given, ModelProto() if is_declared else read_skeleton(path))
    axes = open_axes(inputs)
    batch = batch_of(inputs)
    batch = batch if isinstance(batch, str) else ""
    sequence = sequence_of(axes) or ""
    if not axes:
        return Outline(inputs, axes, batch, sequence)
    model = read(path) if is_engine_format(path) else read_skeleton(path)
    if is_part:
        model = part(path.name, model, request.from_nodes, request.to_nodes)
    name_open_dimensions(model, inputs)
    assumed = assumed_sizes(inputs, axes, batch, sequence, model)
    return Outline(inputs, axes, batch, sequence, assumed, sums(axes, sequence))


def _inputs(path: Path) -> Sequence[ValueInfoProto]:
    check_whole(path)
    try:
        with path.open("rb") as file:
            found = list(_of_graph(file, path.stat().st_size))
            given = [ValueInfoProto.FromString(content) for content, _ in found if content]
    except (EOFError, DecodeError, UnicodeDecodeError):
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from None
    # Before IR 4 every initializer is also listed as an input; a constant is none.
    constants = {name for _, name in found if name}
    return [value for value in given if value.name not in constants]


def _of_graph(file: BinaryIO, size: int) -> Iterator[tuple[bytes, str]]:
    """The content of each input, and the name of each constant, the other of the two empty."""
    for graph, graph_bytes in fields(file, size):
        if graph != _GRAPH:
            continue
        for field, length in fields(file, file.tell() + graph_bytes):
            if field == _INPUT:
                if length > _LARGEST_INPUT_BYTES:
                    raise EOFError
                yield file.read(length), ""
            elif field == _INITIALIZER:
                yield b"", _tensor_name(file, length)
            elif field == _SPARSE_INITIALIZER:
                for values, values_bytes in fields(file, file.tell() + length):
                    if values == _VALUES:
                        yield b"", _tensor_name(file, values_bytes)


def _tensor_name(file: BinaryIO, size: int) -> str:
    name = ""
    for field, length in fields(file, file.tell() + size):
        if field == _NAME:
            name = file.read(min(length, _LARGEST_INPUT_BYTES)).decode("utf-8")
    return name
