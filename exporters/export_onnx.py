"""A user's .onnx becomes an exported model: checked, stored by content, with references.

The file's own bytes are kept. Only where it cannot be kept so, because a part was cut out,
its weights lie in other files or an open dimension has no name, is a copy written.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import ModelProto

from exporters import precision
from exporters.cache import Entry, Store, key_of
from exporters.digest import file_sha256
from exporters.inputs import seeded_inputs
from exporters.onnx_count import count
from exporters.onnx_file import (
    NotBenchmarkable,
    OnnxFile,
    describe,
    external_tensors,
    name_open_dimensions,
    read,
)
from exporters.onnx_part import part
from exporters.onnx_reference import ReferenceRun
from exporters.packaged import packaged_reference
from exporters.references import Point, full_points, stored_references
from exporters.request import ExportRequest
from exporters.types import (
    Dimension,
    ExportedModel,
    Reference,
    TensorSpec,
    axes_key,
    load_reference,
)
from exporters.user_data import axes_of, calibration, digest_of, own_inputs
from exporters.validate import check_file
from exporters.versions import made_by

_MODEL = "model"
_MADE_BY = ("export_onnx", "onnx_file", "onnx_part", "onnx_shapes")


def export_onnx(request: ExportRequest, store: Store) -> tuple[ExportedModel, bool]:
    """The model and whether the cache had all of it.

    Raises ExportError for a damaged or invalid file, an axis left open or set to what the
    graph cannot take, and data or nodes that do not fit; NotBenchmarkable for inputs that
    are no plain tensors, outputs that nobody can vouch for, and a precision it cannot have.
    """
    source = Path(request.model).expanduser()
    if request.weights:
        raise NotBenchmarkable(
            f"{source.name} holds its own weights", "give --weights for models of the catalogue"
        )
    proto = read(source)
    is_part = bool(request.from_nodes or request.to_nodes)
    if is_part:
        proto = part(source.name, proto, request.from_nodes, request.to_nodes)
    face = describe(source, proto)
    own = Path(request.inputs).expanduser() if request.inputs else None
    asked = request.points or ((axes_of(own, face.inputs),) if own else ())
    points = full_points(source.name, asked, face.axes, {})
    key = key_of(
        file=file_sha256(source),
        external=[file_sha256(path) for path in face.external],
        part=[request.from_nodes, request.to_nodes],
        versions=made_by(*_MADE_BY, packages=("onnx",)),
    )
    entry = store.get(key)
    had_graph = entry is not None
    if entry is None:
        entry = _keep(face, proto, is_part, store, key)
    original = path = entry.files[_MODEL]
    opset = face.opset
    exceptions: tuple[str, ...] = ()
    if request.precision != "fp32":
        digest, samples = calibration(request.calibration, face.inputs, points[0], face.batch)
        other = precision.converted(
            store, source.name, original, request.precision, digest, samples
        )
        path, opset, exceptions = other.path, other.opset, other.exceptions
        had_graph = had_graph and other.stored
    kind, references, had_references = _references(request, store, face, original, points, is_part)
    counts = count(proto, points[0])
    model = ExportedModel(
        name=source.stem,
        suite="",
        family="",
        path=str(path),
        sha256=path.stem,
        opset=opset,
        precision=request.precision,
        inputs=precision.cast_specs(face.inputs, request.precision),
        outputs=precision.cast_specs(
            _resolved(face.outputs, points, references), request.precision
        ),
        axes=points[0],
        references=references,
        reference=kind,
        batch=face.batch,
        sequence=face.sequence,
        parameters=counts.parameters,
        parameters_with_buffers=counts.parameters_with_buffers,
        macs=counts.macs,
        precision_exceptions=exceptions,
    )
    return model, had_graph and had_references


def _keep(face: OnnxFile, proto: ModelProto, is_part: bool, store: Store, key: str) -> Entry:
    """Check the file and copy it, with its external data beside it, into the store."""
    check_file(face.path)
    with store.scratch() as folder:
        files = {}
        stored_names = {}
        for index, data in enumerate(face.external):
            copy = folder / f"{index}.bin"
            shutil.copyfile(data, copy)
            stored_names[data] = f"{file_sha256(copy)}{copy.suffix}"
            files[f"external_{index}"] = copy
        model = folder / "model.onnx"
        if face.external or face.unnamed or is_part:
            name_open_dimensions(proto, face)
            for tensor in external_tensors(proto):
                for item in tensor.external_data:
                    if item.key == "location":
                        data = (face.path.resolve().parent / item.value).resolve()
                        item.value = stored_names[data]
            model.write_bytes(proto.SerializeToString(deterministic=True))
        else:
            shutil.copyfile(face.path, model)
        return store.put(key, {}, {**files, _MODEL: model})


def _references(
    request: ExportRequest,
    store: Store,
    face: OnnxFile,
    graph: Path,
    points: Sequence[Point],
    is_part: bool,
) -> tuple[str, dict[str, str], bool]:
    """Who computed them, the files by point, and whether all of them were stored already."""
    specs = precision.cast_specs(face.inputs, request.precision)
    own = Path(request.inputs).expanduser() if request.inputs else None
    run = ReferenceRun(face.path.name, graph, face.outputs)
    packaged = None if own or is_part else packaged_reference(face)
    if packaged is not None and not all(_fits(packaged, face, point) for point in points):
        packaged = None

    def compute(point: Point) -> Reference:
        """Outputs are those of the graph as it was given, for the inputs as they are fed."""
        if packaged is not None:
            return Reference(precision.cast_inputs(packaged.inputs, specs), packaged.outputs)
        inputs = (
            own_inputs(own, face.inputs, point)
            if own
            else seeded_inputs(face.inputs, point, request.seed)
        )
        fed = precision.cast_inputs(inputs, specs)
        return Reference(fed, run.outputs(precision.cast_inputs(fed, face.inputs), point))

    if packaged is not None:
        kind, drawn_from = "packaged", _digest(packaged)
    else:
        kind, drawn_from = "onnx", digest_of(own) if own else str(request.seed)
    about = {
        "graph": graph.stem,
        "by": kind,
        "inputs": drawn_from,
        "types": [spec.dtype for spec in specs],
        "versions": made_by("inputs", packages=("onnx", "numpy")),
    }
    return kind, *stored_references(store, about, points, compute)


def _fits(packaged: Reference, face: OnnxFile, point: Point) -> bool:
    return all(
        packaged.inputs[spec.name].shape == spec.shape_at(point)
        and packaged.inputs[spec.name].dtype == np.dtype(spec.dtype)
        for spec in face.inputs
    )


def _digest(reference: Reference) -> str:
    arrays = {**reference.inputs, **reference.outputs}
    return key_of(**{name: array.tobytes().hex() for name, array in arrays.items()})


def _resolved(
    outputs: Sequence[TensorSpec], points: Sequence[Point], references: Mapping[str, str]
) -> tuple[TensorSpec, ...]:
    """The output shapes in terms of the axes, where the file has other names or none.

    Taken from the reference outputs: an open dimension is the axis whose size it has at
    every point, else a number if it is the same at every point, else what the file says.
    """
    expected = [load_reference(references[axes_key(point)]).outputs for point in points]

    def dimension(output: str, position: int, declared: Dimension) -> Dimension:
        if isinstance(declared, int) or declared in points[0]:
            return declared
        sizes = [arrays[output].shape[position] for arrays in expected]
        if len(set(sizes)) == 1:
            return sizes[0]
        follows = [axis for axis in points[0] if sizes == [point[axis] for point in points]]
        return follows[0] if follows else declared

    return tuple(
        replace(
            spec,
            shape=tuple(dimension(spec.name, place, size) for place, size in enumerate(spec.shape)),
        )
        for spec in outputs
    )
