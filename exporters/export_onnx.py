"""A user's .onnx becomes an exported model: checked, stored by content, with references.

The file's own bytes are kept. Only where it cannot be kept so, because its weights lie in
other files or an open dimension has no name, a copy with those written in takes its place.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import ModelProto

from exporters.cache import Entry, Store, file_sha256, key_of
from exporters.inputs import seeded_inputs
from exporters.onnx_file import (
    NotBenchmarkable,
    OnnxFile,
    describe,
    external_tensors,
    name_open_dimensions,
    read,
)
from exporters.packaged import packaged_reference
from exporters.references import Point, full_points, stored_references
from exporters.request import ExportRequest
from exporters.types import (
    Dimension,
    ExportedModel,
    ExportError,
    Reference,
    TensorSpec,
    axes_key,
    load_reference,
)
from exporters.validate import check_file

_MODEL = "model"


def export_onnx(
    request: ExportRequest, store: Store, versions: Mapping[str, str]
) -> tuple[ExportedModel, bool]:
    """The model and whether the cache had all of it.

    Raises ExportError for a damaged or invalid file or an axis left open, NotBenchmarkable
    for inputs that are no plain tensors and outputs that nobody can vouch for.
    """
    source = Path(request.model).expanduser()
    proto = read(source)
    face = describe(source, proto)
    points = full_points(source.name, request.points, face.axes, {})
    key = key_of(
        file=file_sha256(source),
        external=[file_sha256(path) for path in face.external],
        versions=versions,
    )
    entry = store.get(key)
    had_file = entry is not None
    if entry is None:
        entry = _keep(face, proto, store, key)
    path = entry.files[_MODEL]
    packaged = packaged_reference(face)
    if packaged is not None and all(_fits(packaged, face, point) for point in points):
        kind, drawn_from = "packaged", _digest(packaged)
    else:
        kind, drawn_from = "onnx", str(request.seed)
        packaged = None
    references, had_references = stored_references(
        store,
        {"graph": path.stem, "by": kind, "inputs": drawn_from, "versions": versions},
        points,
        lambda point: packaged or _evaluate(path, face, point, request.seed),
    )
    model = ExportedModel(
        name=source.stem,
        suite="",
        family="",
        path=str(path),
        sha256=path.stem,
        opset=face.opset,
        precision="fp32",
        inputs=face.inputs,
        outputs=_resolved(face.outputs, points, references),
        axes=points[0],
        references=references,
        reference=kind,
        batch=face.batch,
        sequence=face.sequence,
    )
    return model, had_file and had_references


def _keep(face: OnnxFile, proto: ModelProto, store: Store, key: str) -> Entry:
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
        if face.external or face.unnamed:
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


def _fits(packaged: Reference, face: OnnxFile, point: Point) -> bool:
    return all(
        packaged.inputs[spec.name].shape == spec.shape_at(point)
        and packaged.inputs[spec.name].dtype == np.dtype(spec.dtype)
        for spec in face.inputs
    )


def _digest(reference: Reference) -> str:
    arrays = {**reference.inputs, **reference.outputs}
    return key_of(**{name: array.tobytes().hex() for name, array in arrays.items()})


def _evaluate(path: Path, face: OnnxFile, point: Point, seed: int) -> Reference:
    """Seeded inputs and what ONNX's reference evaluator makes of them."""
    from onnx.reference import ReferenceEvaluator

    remedy = "lay inputs and expected outputs beside it, as in test_data_set_0/output_0.pb"
    try:
        evaluator = ReferenceEvaluator(str(path))
    except Exception as error:
        raise NotBenchmarkable(
            f"ONNX's reference evaluator cannot check {face.path.name} ({_sentence(error)})", remedy
        ) from error
    inputs = seeded_inputs(face.inputs, point, seed)
    try:
        with np.errstate(all="ignore"):
            values = evaluator.run([spec.name for spec in face.outputs], inputs)
    except NotImplementedError as error:
        raise NotBenchmarkable(
            f"ONNX's reference evaluator cannot check {face.path.name} ({_sentence(error)})", remedy
        ) from error
    except Exception as error:
        raise ExportError(
            f"{face.path.name} does not run at {axes_key(point)} ({_sentence(error)})",
            "set its axes to sizes that the graph takes",
        ) from error
    outputs = {spec.name: np.asarray(v) for spec, v in zip(face.outputs, values, strict=True)}
    return Reference(inputs, outputs)


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


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
