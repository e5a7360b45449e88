"""An fp16 graph computes what the module does, and no session of it is created here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from exporters.types import Precision, load_reference
from runtimes.errors import Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.exporters.graphs import save_affine
from tests.exporters.precision.conversions import (
    ask,
    export_file,
    normal,
    relative_error,
    run,
    save,
)
from tests.exporters.support import WorkerProcess

FP16_TOLERANCE = 0.01


def _evaluate(path: str, x: np.ndarray) -> np.ndarray:
    (y,) = ReferenceEvaluator(path).run(["y"], {"x": x})
    return np.asarray(y)


@pytest.mark.usefixtures("no_sessions")
def test_an_fp16_lstm_is_made_and_refused_on_the_cpu_without_a_session(
    lstm: Path, tmp_path: Path
) -> None:
    model = export_file(lstm, "fp16", tmp_path / "cache", point={"time": 5})
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float16"}
    (file,) = model.references.values()
    reference = load_reference(file)
    assert reference.inputs["x"].dtype == np.float16
    exact = _evaluate(str(lstm), reference.inputs["x"].astype("float32"))
    assert np.allclose(reference.outputs["y"], exact, rtol=1e-5, atol=1e-6)
    actual = _evaluate(model.path, reference.inputs["x"])
    assert actual.dtype == np.float16
    assert relative_error(actual, exact) <= FP16_TOLERANCE
    precisions: tuple[Precision, ...] = ("fp16", "fp32")
    for precision in precisions:
        with pytest.raises(Unsupported, match="fp16"):
            OrtCpu().refuse(model, model.axes, Settings(precision=precision))


@pytest.mark.parametrize("name", ["mlp", "cnn_tiny_seq"])
def test_an_fp16_graph_computes_what_the_module_does(
    worker: WorkerProcess, name: str, tmp_path: Path
) -> None:
    model = ask(worker, name, "fp16")
    proto = onnx.load(model.path)
    assert {tensor.data_type for tensor in proto.graph.initializer} <= {
        TensorProto.FLOAT16,
        TensorProto.INT64,
    }
    assert model.precision_exceptions == ()
    outputs, _ = run(model, tmp_path)
    (file,) = model.references.values()
    expected = load_reference(file).outputs
    assert all(relative_error(outputs[key], expected[key]) <= FP16_TOLERANCE for key in expected)


def test_an_operator_that_fp16_conversion_leaves_alone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sums.onnx"
    weights = {"axis": np.array(1)}
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], name="running")
    save(path, [node], weights, x=[2, 4], y=[2, 4])
    model = export_file(path, "fp16", tmp_path / "cache")
    assert model.precision_exceptions == ("CumSum 'running'",)


def test_a_weight_that_nothing_reads_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path, ir_version=3)
    proto = onnx.load(path)
    proto.graph.initializer.append(numpy_helper.from_array(normal(2), "left_over"))
    proto.graph.input.append(helper.make_tensor_value_info("left_over", TensorProto.FLOAT, [2]))
    onnx.save(proto, path)
    model = export_file(path, "fp16", tmp_path / "cache", point={"batch": 1})
    assert [spec.name for spec in model.inputs] == ["x"]
