"""The process that writes a copy of a graph at an earlier IR version, for an earlier engine.

`python -m exporters.onnx_files.ir_version MODEL COPY VERSION`, for processes without onnx. It
prints what in the graph needs a later version, in which case there is no copy, or nothing. Weights
in other files are linked beside the copy. The tables follow the comments in onnx.proto.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from exporters.onnx_files.model_io import external_tensors

_VERSION_OF_TYPE = {
    "FLOAT8E4M3FN": 9,
    "FLOAT8E4M3FNUZ": 9,
    "FLOAT8E5M2": 9,
    "FLOAT8E5M2FNUZ": 9,
    "UINT4": 10,
    "INT4": 10,
    "FLOAT4E2M1": 11,
    "FLOAT8E8M0": 12,
    "UINT2": 13,
    "INT2": 13,
    "FLOAT6E2M3": 14,
    "FLOAT6E3M2": 14,
}
_VERSION_OF_FIELD = {
    "FunctionProto.attribute_proto": 9,
    "FunctionProto.overload": 10,
    "NodeProto.overload": 10,
    "ModelProto.configuration": 11,
    "NodeProto.device_configurations": 11,
}
"""Fields that change what a graph means. `metadata_props` of nodes and tensors, of version 10, do
not: an earlier reader passes over them."""
_TYPE_FIELDS = frozenset({"data_type", "elem_type"})
EARLIEST = 8
"""No copy is written below this version: earlier ones differ in more than these tables hold."""


def main(arguments: Sequence[str]) -> int:
    model, copy, version = arguments
    sys.stdout.write("\n".join(write_copy(Path(model), Path(copy), int(version))))
    return 0


def write_copy(path: Path, copy: Path, version: int) -> tuple[str, ...]:
    """Write `path` to `copy` at this IR version; what needs a later one, and then no copy."""
    model = onnx.load(path, load_external_data=False)
    if version < EARLIEST or model.ir_version > onnx.IR_VERSION:
        return (f"what no version from {EARLIEST} to {onnx.IR_VERSION} is known to hold",)
    feature_names = tuple(
        sorted({name for name, first_version in features(model) if first_version > version})
    )
    if feature_names:
        return feature_names
    for location in {_location(tensor) for tensor in external_tensors(model)}:
        _link(path.parent / location, copy.parent / location)
    model.ir_version = version
    copy.write_bytes(model.SerializeToString(deterministic=True))
    return ()


def features(model: ModelProto) -> set[tuple[str, int]]:
    """What of a graph needs an IR version later than `EARLIEST`, each with that version."""
    versions = set()
    for field, value in _fields(model):
        name = f"{field.containing_type.name}.{field.name}"
        if name in _VERSION_OF_FIELD:
            versions.add((name, _VERSION_OF_FIELD[name]))
        if field.name in _TYPE_FIELDS and value in TensorProto.DataType.values():
            kind = TensorProto.DataType.Name(value)
            if kind in _VERSION_OF_TYPE:
                versions.add((f"the type {kind}", _VERSION_OF_TYPE[kind]))
    return versions


def _fields(message: Message) -> Iterator[tuple[FieldDescriptor, object]]:
    """Every field that is set, at any depth, with its value."""
    for field, value in message.ListFields():
        yield field, value
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in [value] if isinstance(value, Message) else value:
                yield from _fields(part)


def _location(tensor: TensorProto) -> str:
    return next(item.value for item in tensor.external_data if item.key == "location")


def _link(file: Path, place: Path) -> None:
    """Let a file lie at a second place too, without a copy of its bytes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file.resolve(), place)
    except OSError:  # another file system
        place.symlink_to(file.resolve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
