"""Weights that a user's model keeps in other files: which tensors, and where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, TensorProto
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from exporters.types import ExportError


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


def external_files(path: Path, model: ModelProto) -> tuple[Path, ...]:
    """The files that hold weights, all in the model's folder; ExportError for one not whole."""
    folder = path.resolve().parent
    files: dict[Path, None] = {}
    for tensor in external_tensors(model):
        try:
            info = ExternalDataInfo(tensor)
            file = (folder / info.location).resolve()
            there = file.is_file()
        except (OSError, ValueError) as error:
            raise ExportError(
                f"{path.name} does not say where the weights of {tensor.name!r} lie ({error})",
                "save it again with its external data",
            ) from None
        if not info.location:
            raise ExportError(
                f"{path.name} does not say where the weights of {tensor.name!r} lie",
                "save it again with its external data",
            )
        if not file.is_relative_to(folder):
            raise ExportError(
                f"{path.name} keeps the weights of {tensor.name!r} outside its own folder "
                f"({info.location!r})",
                "save it again with its external data beside it",
            )
        if not there:
            raise ExportError(
                f"{path.name} needs the external data file {info.location!r}, which is not there",
                "copy it into the model's folder",
            ) from FileNotFoundError(str(file))
        if file.stat().st_size < (info.offset or 0) + (info.length or 0):
            raise ExportError(
                f"the external data file {info.location!r} of {path.name} ends before the "
                f"weights of {tensor.name!r} do",
                "copy it again",
            )
        files[file] = None
    return tuple(files)
