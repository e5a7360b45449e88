"""What the tests of both conversions share: asking for one, running it, judging it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import NodeProto

from exporters.messages import ExportRequest
from exporters.types import ExportedModel, Precision, load_reference
from exporters.worker import export
from runtimes.onnxruntime.opening import WIDE_SUMS, WIDENING_FAULT
from runtimes.session.precision import saturates_int8
from tests.exporters.support import WorkerProcess, graph, tensor


def ask(worker: WorkerProcess, name: str, precision: Precision) -> ExportedModel:
    return worker.export(ExportRequest(name, precision))


def export_file(
    path: Path,
    precision: Precision,
    cache: Path,
    point: dict[str, int] | None = None,
    calibration: str = "",
    custom_ops: tuple[str, ...] = (),
) -> ExportedModel:
    request = ExportRequest(
        str(path),
        precision,
        points=(point,) if point else (),
        calibration=calibration,
        custom_ops=custom_ops,
        cache_dir=str(cache),
    )
    return export(request)[0]


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual.astype(np.float64) - expected).max() / np.abs(expected).max())


def run(model: ExportedModel, folder: Path) -> tuple[dict[str, np.ndarray], set[str]]:
    """Outputs for the model's reference inputs, and the operators that ONNX Runtime executed.

    Sums of two products do not saturate, as they would on x86-64 without VNNI.
    """
    try:
        session = _session(model, folder, is_wide=saturates_int8())
    except Exception as error:
        if WIDENING_FAULT not in str(error):
            raise
        session = _session(model, folder, is_wide=False)
    names = [spec.name for spec in model.outputs]
    (file,) = model.references.values()
    outputs = session.run(names, dict(load_reference(file).inputs))
    op_types = {node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node}
    return dict(zip(names, outputs, strict=True)), op_types


def _session(model: ExportedModel, folder: Path, is_wide: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    if is_wide:
        options.add_session_config_entry(WIDE_SUMS, "1")
    return onnxruntime.InferenceSession(model.path, options, ["CPUExecutionProvider"])


def save(
    path: Path,
    nodes: Sequence[NodeProto],
    weights: dict[str, np.ndarray],
    x: Sequence[int | str],
    y: Sequence[int | str],
) -> None:
    """A graph of `x` to `y` of these shapes."""
    onnx.save(graph(nodes, [tensor("x", x)], [tensor("y", y)], weights), path)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)
