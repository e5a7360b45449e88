"""Is this file an ONNX model, and is it whole: told from its bytes before it is parsed.

Protobuf calls both a text file and half a download "parse error"; a user needs to know
which. Only the outermost fields are walked, so that size costs nothing. `fields` walks any
message in the same way, for who needs a few of its fields and not the rest.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from exporters.types import ExportError

LARGEST_PROTOBUF_BYTES = 2**31 - 1

_GRAPH_FIELD = 7  # ModelProto.graph in onnx.proto
_LAST_FIELD = 26  # the highest field number in ModelProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def check_whole(path: Path) -> None:
    """ExportError if the file is no ONNX model, is cut short, or is too large to be one."""
    try:
        told = path.stat()
        size = told.st_size
        if not stat.S_ISREG(told.st_mode):
            raise ExportError(f"{path.name} is no file", "give the path of an .onnx file")
        if size > LARGEST_PROTOBUF_BYTES:
            raise ExportError(
                f"{path.name} has {size} bytes, and an ONNX file must be below 2 GiB",
                "save it with external data",
            )
        with path.open("rb") as file:
            _walk(file, size, path.name)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror})", "give the path of an .onnx file"
        ) from error


def fields(file: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """The fields from where the file stands up to `end`: each one's number and its length.

    The file stands at the field's content when it is given, and may be moved by who takes it.
    EOFError for bytes that are no message.
    """
    while file.tell() < end:
        field, kind = divmod(_varint(file), 8)
        begin = file.tell()
        if kind == _VARINT:
            _varint(file)
            length = file.tell() - begin
        elif kind in (_FIXED64, _FIXED32, _BYTES):
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind) or _varint(file)
            begin = file.tell()
        else:
            raise EOFError
        if begin + length > end:
            raise EOFError
        file.seek(begin)
        yield field, length
        file.seek(begin + length)


def _walk(file: BinaryIO, size: int, name: str) -> None:
    no_onnx = ExportError(f"{name} is not an ONNX file", "give a model saved by onnx.save")
    has_graph = False
    while file.tell() < size:
        try:
            field, kind = divmod(_varint(file), 8)
            if not 1 <= field <= _LAST_FIELD or kind not in (_VARINT, _FIXED64, _BYTES, _FIXED32):
                raise no_onnx
            if kind == _VARINT:
                _varint(file)
                continue
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind) or _varint(file)
        except EOFError:
            raise no_onnx if not has_graph else _truncated(name, size, size + 1) from None
        end = file.tell() + length
        if field == _GRAPH_FIELD:
            has_graph = True
        if end > size:
            raise _truncated(name, size, end) if has_graph else no_onnx
        file.seek(end)
    if not has_graph:
        raise no_onnx


def _truncated(name: str, size: int, needed: int) -> ExportError:
    return ExportError(
        f"{name} is truncated: it has {size} bytes of at least {needed}", "copy it again"
    )


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
