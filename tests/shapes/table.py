"""All models of public shapes, and what the product feeds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from exporters.inputs import assumed_inputs, seeded_inputs
from exporters.messages import ExportRequest, OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.types import ExportedModel, load_reference
from exporters.worker.export import export
from tests.shapes.net import Shape
from tests.shapes.pictures import PICTURES
from tests.shapes.speech import SPEECH
from tests.shapes.tables import TABLES

SHAPES: Sequence[Shape] = (*SPEECH, *PICTURES, *TABLES)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A file with the sizes and inputs that `graphlap run` chooses for it; `asked` are the axes
    that it asks for, which have the documented sizes here."""

    path: Path
    model: ExportedModel
    sizes: Mapping[str, int]
    asked: Sequence[str]

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        (file,) = self.model.references.values()
        return dict(load_reference(file).inputs)

    @property
    def assumed(self) -> Sequence[str]:
        return assumed_inputs(self.model.inputs)

    def at(self, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Inputs at other sizes."""
        return seeded_inputs(self.model.inputs, sizes, seed=0)


def drawn(shape: Shape, folder: Path) -> Drawn:
    """The model written into the folder, outlined and exported as a run does both."""
    path = folder / "model.onnx"
    path.write_bytes(shape.build().SerializeToString())
    found = outline(OutlineRequest(str(path)))
    asked = [axis for axis in found.axes if axis not in found.assumed]
    sizes = {**found.assumed, **{axis: shape.sizes[axis] for axis in asked}}
    request = ExportRequest(str(path), points=(sizes,), cache_dir=str(folder / "cache"))
    return Drawn(path, export(request)[0], sizes, asked)


def session(path: Path) -> onnxruntime.InferenceSession:
    """One thread, as the comparison uses it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
