"""Inputs and outputs that came with a user's file, in the layouts of ONNX's own test data.

Either `test_data_set_0/{input,output}_0.pb` beside the model, which must be the only one of its
folder, or `NAME_output_0.pb` beside `NAME.onnx` with inputs that ONNX's backend test runner
computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from exporters.files.face import OnnxFile
from exporters.points import Point
from exporters.source import Packaged
from exporters.types import ExportError, Reference, TensorSpec


def packaged_reference(face: OnnxFile, points: Sequence[Point]) -> Packaged:
    """The data packaged with the file, if there is any that fits all points.

    ExportError if it is damaged.
    """
    folder = face.path.parent
    data_set = folder / "test_data_set_0"
    refused = _why_refused(data_set) if data_set.is_dir() else ""
    if data_set.is_dir() and not refused:
        inputs = _read_all(face.inputs, data_set, "input")
        outputs = _read_all(face.outputs, data_set, "output")
    else:
        inputs = {spec.name: _ramp(spec) for spec in face.inputs} if not face.axes else None
        outputs = _read_all(face.outputs, folder, f"{face.path.stem}_output")
    if inputs is None or outputs is None:
        return Packaged(None, refused)
    if not all(_fits(inputs[s.name], s, point) for s in face.inputs for point in points):
        return Packaged(None, refused or "its inputs are of other sizes or types")
    return Packaged(Reference(inputs, outputs))


def _why_refused(data_set: Path) -> str:
    """Why a folder of test data may be of another file; empty where there is only one."""
    try:
        models = [path for path in data_set.parent.iterdir() if path.suffix.lower() == ".onnx"]
    except OSError as error:
        return f"the files next to {data_set.name} are unknown ({error.strerror})"
    if len(models) > 1:
        return f"{data_set.name} belongs to one of the {len(models)} .onnx files next to it"
    return ""


def _fits(array: np.ndarray, spec: TensorSpec, point: Point) -> bool:
    return array.shape == spec.shape_at(point) and array.dtype == np.dtype(spec.dtype)


def _read_all(specs: Sequence[TensorSpec], folder: Path, stem: str) -> dict[str, np.ndarray] | None:
    """`STEM_0.pb` and so on, one for each spec in order; None if one is not there."""
    paths = [folder / f"{stem}_{index}.pb" for index in range(len(specs))]
    if not all(path.is_file() for path in paths):
        return None
    return {spec.name: _read(path) for spec, path in zip(specs, paths, strict=True)}


def _read(path: Path) -> np.ndarray:
    try:
        return numpy_helper.to_array(onnx.load_tensor(path))
    except Exception as error:
        raise ExportError(
            f"{path.name} next to the model is not a readable tensor", "restore or remove it"
        ) from error


def _ramp(spec: TensorSpec) -> np.ndarray:
    """Even steps from 0 up to 1, what the runner feeds where no input file is given."""
    shape = spec.shape_at({})
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(spec.dtype)
