"""The check that every layer, cell and network goes through: its file at other batches."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from exporters.messages import ExportRequest
from exporters.types import load_reference
from tests.exporters.support import WorkerProcess

TOLERANCE = 1e-4


def assert_batch_is_symbolic_and_right(
    worker: WorkerProcess, name: str, batches: tuple[int, ...] = (2, 5)
) -> None:
    """Export, see `batch` first in every input and output, and run at each of `batches`."""
    points = tuple({"batch": batch} for batch in batches)
    reply = worker.ask(ExportRequest(name, points=points))
    assert reply.model is not None, reply.reason
    graph = onnx.load(reply.model.path).graph
    for value in (*graph.input, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        assert sizes[0].dim_param == "batch"
        assert all(size.dim_value > 0 for size in sizes[1:])
    session = onnxruntime.InferenceSession(reply.model.path, providers=["CPUExecutionProvider"])
    assert len(reply.model.references) == len(points)
    for path in reply.model.references.values():
        reference = load_reference(path)
        (actual,) = session.run(["y"], dict(reference.inputs))
        expected = reference.outputs["y"]
        assert actual.shape == expected.shape
        assert np.abs(actual - expected).max() <= TOLERANCE * np.abs(expected).max()
