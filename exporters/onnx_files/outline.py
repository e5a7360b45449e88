"""Outline process: the inputs and open axes of a user's .onnx with sizes for them, read without
its weights.

`python -m exporters.onnx_files.outline`: `OutlineRequest` lines in, `OutlineReply` lines out.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import ModelProto, ValueInfoProto

from exporters.codec import from_json, to_json
from exporters.install_layout import requests_and_replies
from exporters.messages import Outline, OutlineReply, OutlineRequest
from exporters.onnx_files.ends import has_shape
from exporters.onnx_files.graph import part
from exporters.onnx_files.model_io import (
    check_whole,
    fields,
    input_specs,
    inspect,
    open_axes,
    read,
)
from exporters.onnx_files.sizes import assumed_sizes
from exporters.types import ExportError, GraphlapError, is_engine_format

# Field numbers of onnx.proto: ModelProto, GraphProto, SparseTensorProto, TensorProto.
_IR_VERSION, _GRAPH, _OPSET_IMPORT, _FUNCTIONS = 1, 7, 8, 25
_NODE, _GRAPH_NAME, _INPUT, _OUTPUT, _VALUE_INFO = 1, 2, 11, 12, 13
_INITIALIZER, _SPARSE_INITIALIZER = 5, 15
_VALUES = 1
_TENSOR, _TENSOR_FACTS = range(1, 64), (1, 2, 8)
"""All of a tensor, and its sizes, type and name."""
_WHOLE_TENSOR_BYTES = 16 << 10
"""Constants up to this size keep their values."""
_LARGEST_BYTES = 256 << 20
"""Of a skeleton; a graph with more text than this is refused."""


def read_skeleton(path: Path, inputs_only: bool = False) -> ModelProto:
    """The graph without the values of its large constants; with `inputs_only` no more than its
    inputs and the names of all constants. ExportError if it is damaged."""
    check_whole(path)
    try:
        with path.open("rb") as file:
            return _skeleton(file, path.stat().st_size, inputs_only)
    except (EOFError, DecodeError, ValueError):
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from None


def _skeleton(file: BinaryIO, size: int, inputs_only: bool) -> ModelProto:
    parts = (_INPUT, *(() if inputs_only else (_NODE, _GRAPH_NAME, _OUTPUT, _VALUE_INFO)))
    whole_bytes = 0 if inputs_only else _WHOLE_TENSOR_BYTES
    model = ModelProto.FromString(_kept(file, 0, size, (_IR_VERSION, _OPSET_IMPORT, _FUNCTIONS)))
    left_bytes = _LARGEST_BYTES
    for number, _, begin, end in fields(file, 0, size):
        if number != _GRAPH:
            continue
        model.graph.MergeFromString(_kept(file, begin, end, parts))
        for tensor_begin, tensor_end in _constants(file, begin, end, inputs_only):
            is_whole = tensor_end - tensor_begin <= whole_bytes
            tensor = _kept(file, tensor_begin, tensor_end, _TENSOR if is_whole else _TENSOR_FACTS)
            left_bytes -= len(tensor)
            if left_bytes < 0:
                raise EOFError
            model.graph.initializer.add().MergeFromString(tensor)
    return model


def _constants(file: BinaryIO, begin: int, end: int, has_sparse: bool) -> Iterator[tuple[int, int]]:
    """Where the tensors of a graph's constants lie, those of sparse ones without their indices."""
    for number, _, content, field_end in fields(file, begin, end):
        if number == _INITIALIZER:
            yield content, field_end
        elif number == _SPARSE_INITIALIZER and has_sparse:
            for part, _, values, values_end in fields(file, content, field_end):
                if part == _VALUES:
                    yield values, values_end


def _kept(file: BinaryIO, begin: int, end: int, numbers: Container[int]) -> bytes:
    """The fields of these numbers, as they stand in the file."""
    kept = bytearray()
    for number, field_begin, _, field_end in fields(file, begin, end):
        if number in numbers:
            if len(kept) + field_end - field_begin > _LARGEST_BYTES:
                raise EOFError
            file.seek(field_begin)
            kept += file.read(field_end - field_begin)
    return bytes(kept)


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
        graph_inputs = _inputs(path)
        # The graph itself is read only where an input has to have a shape that it takes.
        is_declared = all(map(has_shape, graph_inputs))
        inputs = input_specs(
            path, graph_inputs, ModelProto() if is_declared else read_skeleton(path)
        )
    if not open_axes(inputs):
        return Outline(inputs, ())
    model = read(path) if is_engine_format(path) else read_skeleton(path)
    if is_part:
        model = part(path.name, model, request.from_nodes, request.to_nodes)
    may_run = request.tried and not request.closely and not is_part
    return assumed_sizes(inputs, model, path if may_run else None)


def _inputs(path: Path) -> Sequence[ValueInfoProto]:
    graph = read_skeleton(path, inputs_only=True).graph
    # Before IR 4 every initializer is also listed as an input; a constant is none.
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def answer(line: str) -> OutlineReply:
    try:
        return OutlineReply(outline(from_json(OutlineRequest, json.loads(line))))
    except GraphlapError as error:
        return OutlineReply(cause=error.cause, remedy=error.remedy)
    except Exception as error:
        cause = f"the file could not be read ({type(error).__name__}: {error})"
        return OutlineReply(cause=cause, remedy="export it again")


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    for line in requests:
        reply(to_json(answer(line)))


if __name__ == "__main__":
    main()
