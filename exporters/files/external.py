"""Weights that a user's model keeps in other files: which tensors, and where they lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, TensorProto
from onnx.external_data_helper import ExternalDataInfo, uses_external_data
from onnx.helper import tensor_dtype_to_np_dtype

from exporters.types import ExportError

_PACKED_BITS: dict[int, int] = {
    TensorProto.DataType.Value(name): bits
    for name, bits in (("INT4", 4), ("UINT4", 4), ("FLOAT4E2M1", 4), ("INT2", 2), ("UINT2", 2))
    if name in TensorProto.DataType.keys()  # noqa: SIM118 - an enum of protobuf, no dictionary
}


def external_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of the model, at any depth, whose values lie in another file."""
    holders: list[GraphProto | FunctionProto] = [model.graph, *model.functions]
    while holders:
        holder = holders.pop()
        if isinstance(holder, GraphProto):
            yield from filter(uses_external_data, holder.initializer)
        for node in holder.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR and uses_external_data(attribute.t):
                    yield attribute.t
                yield from filter(uses_external_data, attribute.tensors)
                if attribute.type == AttributeProto.GRAPH:
                    holders.append(attribute.g)
                holders.extend(attribute.graphs)


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
            file = _located(path, info.location)
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
        offset, needed = info.offset or 0, _bytes_of(tensor)
        length = info.length or needed  # 0, as ONNX Runtime reads it, is all that it takes
        if offset < 0 or length != needed:
            raise ExportError(
                f"{path.name} has malformed external data: the weights of {tensor.name!r} take "
                f"{needed:,} bytes, and {length:,} at byte {offset:,} of {info.location!r} are "
                "named",
                "save it again with its external data",
            )
        if size < offset + length:
            raise ExportError(
                f"the external data file {info.location!r} of {path.name} ends before the "
                f"weights of {tensor.name!r} do",
                "copy it again",
            )
        files[info.location] = file
    return files


def _located(path: Path, location: str) -> Path | None:
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
