"""Whether a graph and its module, each on its own runtime, give the stored reference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exporters.types import ExportedModel, axes_key, load_reference
from runtimes.options import Settings
from runtimes.pytorch.runtime import TorchCpu
from tests.exporters.support import by_engine


def assert_agrees(model: ExportedModel, point: Mapping[str, int]) -> None:
    """ONNX Runtime on the graph and torch-cpu on the module both give the reference."""
    model = model.at(point)
    reference = load_reference(model.references[axes_key(model.axes)])
    with TorchCpu().compile(model, model.axes, Settings(threads=1)) as native:
        (lane,) = native.lanes
        lane.bind(reference.inputs)
        lane.run()
        by_torch = lane.outputs()
    assert list(by_torch) == [spec.name for spec in model.outputs]
    for (name, expected), by_ort, spec in zip(
        reference.outputs.items(), by_engine(model, reference), model.outputs, strict=True
    ):
        assert expected.shape == spec.shape_at(model.axes)
        largest = np.abs(expected).max()
        assert np.abs(by_ort.astype(np.float64) - expected).max() <= 1e-4 * largest, name
        assert np.abs(by_torch[name].astype(np.float64) - expected).max() <= 1e-5 * largest, name
