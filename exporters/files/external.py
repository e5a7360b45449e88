"""Weights that a user's model keeps in other files: which tensors, and where they lie."""

from __future__ import annotations

import os
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
                f"{path.name} does not say where the weights of {tensor.name!r} lie ({error})",
                "save it again with its external data",
            ) from None
        if not info.location:
            raise ExportError(
                f"{path.name} does not say where the weights of {tensor.name!r} lie",
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
            )
        if size < (info.offset or 0) + (info.length or 0):
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
