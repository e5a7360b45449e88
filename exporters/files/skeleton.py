"""A user's .onnx without its weights: nodes, inputs, outputs and the shapes of constants.

Large constants are skipped in the file, so that a graph with gigabytes of weights is read in
milliseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from exporters.files.wire import check_whole, fields
from exporters.types import ExportError

# Field numbers of onnx.proto: ModelProto, GraphProto, TensorProto.
_IR_VERSION, _GRAPH, _OPSET_IMPORT, _FUNCTIONS = 1, 7, 8, 25
_NODE, _GRAPH_NAME, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 2, 5, 11, 12, 13
_CONTENTS = {4, 5, 6, 7, 9, 10, 11}
"""The fields of a tensor that hold its values."""
_WHOLE_TENSOR_BYTES = 16 << 10
"""Constants up to this size keep their values."""
_LARGEST_BYTES = 256 << 20
"""Of a skeleton; a graph with more text than this is refused."""


def read_skeleton(path: Path) -> ModelProto:
    """The graph without the values of its large constants; ExportError if it is damaged."""
    check_whole(path)
    try:
        with path.open("rb") as file:
            return ModelProto.FromString(_model(file, path.stat().st_size))
    except (EOFError, DecodeError, UnicodeDecodeError):
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from None


def _model(file: BinaryIO, size: int) -> bytes:
    model = bytearray()
    for field, length in fields(file, size):
        if field == _GRAPH:
            model += _field(field, _graph(file, length))
        elif field == _IR_VERSION:
            model += bytes([field << 3]) + _read(file, length)
        elif field in (_OPSET_IMPORT, _FUNCTIONS):
            model += _field(field, _read(file, length))
        _refuse_oversized(model)
    return bytes(model)


def _graph(file: BinaryIO, size: int) -> bytes:
    graph = bytearray()
    for field, length in fields(file, file.tell() + size):
        if field in (_NODE, _GRAPH_NAME, _INPUT, _OUTPUT, _VALUE_INFO):
            graph += _field(field, _read(file, length))
        elif field == _INITIALIZER:
            graph += _field(field, _tensor(file, length))
        _refuse_oversized(graph)
    return bytes(graph)


def _tensor(file: BinaryIO, size: int) -> bytes:
    if size <= _WHOLE_TENSOR_BYTES:
        return _read(file, size)
    dims: list[int] = []
    tensor = TensorProto()
    for field, length in fields(file, file.tell() + size):
        if field not in _CONTENTS and length <= _WHOLE_TENSOR_BYTES:
            content = _read(file, length)
            if field == 1:
                dims += _integers(content)
            elif field == 2:
                (tensor.data_type,) = _integers(content)
            elif field == 8:
                tensor.name = content.decode("utf-8")
    tensor.dims.extend(dims)
    return tensor.SerializeToString()


def _integers(content: bytes) -> list[int]:
    """Base-128 integers, one after the other."""
    numbers, number, shift = [], 0, 0
    for byte in content:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def _field(number: int, content: bytes) -> bytes:
    """A field of type bytes as protobuf writes it."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _read(file: BinaryIO, length: int) -> bytes:
    if length > _LARGEST_BYTES:
        raise EOFError
    return file.read(length)


def _refuse_oversized(content: bytearray) -> None:
    if len(content) > _LARGEST_BYTES:
        raise EOFError
