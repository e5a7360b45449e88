"""fp16 and int8 graphs are what they say, and what cannot be had so is told without a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from exporters.export import export
from exporters.onnx_file import NotBenchmarkable
from exporters.request import ExportReply, ExportRequest
from exporters.types import ExportedModel, ExportError, Precision, load_reference
from runtimes.faults import Unsupported
from runtimes.options import Settings
from runtimes.ort.runtime import OrtCpu
from tests.exporters.support import WorkerProcess, save_affine

INT8_TOLERANCE = 0.1
FP16_TOLERANCE = 0.01


def _ask(worker: WorkerProcess, name: str, precision: Precision) -> ExportedModel:
    reply = worker.ask(ExportRequest(name, precision))
    assert reply.model is not None, reply.reason
    return reply.model


def _export(path: Path, precision: Precision, cache: Path, **rest: object) -> ExportedModel:
    return export(ExportRequest(str(path), precision, cache_dir=str(cache), **rest))[0]  # type: ignore[arg-type]


def _error(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max())


def _run(model: ExportedModel, folder: Path) -> tuple[dict[str, np.ndarray], set[str]]:
    """Outputs for the model's reference inputs, and the operators that ONNX Runtime executed."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    session = onnxruntime.InferenceSession(model.path, options, ["CPUExecutionProvider"])
    names = [spec.name for spec in model.outputs]
    (file,) = model.references.values()
    outputs = session.run(names, dict(load_reference(file).inputs))
    executed = {node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node}
    return dict(zip(names, outputs, strict=True)), executed


def _save(path: Path, nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], **shapes: list):
    """A graph of `x` to `y`, whose shapes are given by name."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in ("x", "y")
    )
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "graph", [x], [y], initializers)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@pytest.fixture
def lstm(tmp_path: Path) -> Path:
    path = tmp_path / "recurrent.onnx"
    node = helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], name="memory", hidden_size=4)
    weights = {"w": _normal(1, 16, 3), "r": _normal(1, 16, 4)}
    _save(path, [node], weights, x=["time", 1, 3], y=[1, 1, 4])
    return path


@pytest.fixture
def no_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session was created")

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    yield


@pytest.mark.parametrize("name", ["mlp", "cnn_tiny", "cnn_tiny_seq"])
def test_every_matrix_node_of_an_int8_graph_runs_in_int8(
    worker: WorkerProcess, name: str, tmp_path: Path
) -> None:
    model = _ask(worker, name, "int8")
    outputs, executed = _run(model, tmp_path)
    assert not executed & {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"}
    assert executed & {"QLinearConv", "QGemm", "QLinearMatMul"}
    assert model.precision == "int8"
    assert model.precision_exceptions == ()
    (file,) = model.references.values()
    expected = load_reference(file).outputs
    assert all(_error(outputs[key], expected[key]) <= INT8_TOLERANCE for key in expected)
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float32"}


def test_int8_is_measured_against_the_outputs_of_fp32(worker: WorkerProcess) -> None:
    exact, coarse = _ask(worker, "mlp", "fp32"), _ask(worker, "mlp", "int8")
    assert coarse.references == exact.references
    assert coarse.parameters == exact.parameters == 295_808
    assert coarse.sha256 != exact.sha256


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_two_processes_write_the_same_bytes(
    worker: WorkerProcess, tmp_path: Path, precision: Precision
) -> None:
    other = WorkerProcess(tmp_path)
    try:
        here, there = (_ask(process, "cnn_tiny", precision) for process in (worker, other))
        assert here.path != there.path
        assert here.sha256 == there.sha256
    finally:
        other.close()


def test_a_converted_graph_comes_from_the_cache(worker: WorkerProcess) -> None:
    _ask(worker, "mlp", "int8")
    assert worker.ask(ExportRequest("mlp", "int8")).cached


def test_a_node_that_stays_in_float_is_named(tmp_path: Path) -> None:
    path = tmp_path / "upscale.onnx"
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], name="down", kernel_shape=[3]),
        helper.make_node("ConvTranspose", ["h", "u"], ["y"], name="up", kernel_shape=[3]),
    ]
    weights = {"w": _normal(8, 4, 3), "u": _normal(8, 4, 3)}
    _save(path, nodes, weights, x=["batch", 4, 16], y=["batch", 4, 16])
    model = _export(path, "int8", tmp_path / "cache", points=({"batch": 1},))
    assert model.precision_exceptions == ("ConvTranspose 'up'",)


@pytest.mark.parametrize("form", ["old", "external"])
def test_weights_in_any_form_are_quantised(tmp_path: Path, form: str) -> None:
    path = tmp_path / "affine.onnx"
    if form == "old":
        save_affine(path, ir_version=3)
    else:
        save_affine(path, external="weights.bin")
    model = _export(path, "int8", tmp_path / "cache", points=({"batch": 2},))
    assert model.precision_exceptions == ()
    proto = onnx.load(model.path)
    assert [value.name for value in proto.graph.input] == ["x"]
    assert model.opset == next(o.version for o in proto.opset_import if not o.domain)
    assert model.parameters == 64 * 32
    outputs, _ = _run(model, tmp_path)
    (file,) = model.references.values()
    assert _error(outputs["y"], load_reference(file).outputs["y"]) <= INT8_TOLERANCE


def test_a_graph_without_matrix_work_has_no_int8(tmp_path: Path) -> None:
    path = tmp_path / "relu.onnx"
    _save(path, [helper.make_node("Relu", ["x"], ["y"])], {}, x=[1, 4], y=[1, 4])
    with pytest.raises(NotBenchmarkable, match=r"no Conv, Gemm or MatMul that could run in int8"):
        _export(path, "int8", tmp_path / "cache")


def test_when_nothing_would_run_in_int8_there_is_no_int8_graph(tmp_path: Path) -> None:
    path = tmp_path / "up.onnx"
    nodes = [helper.make_node("ConvTranspose", ["x", "u"], ["y"], name="up", kernel_shape=[3])]
    _save(path, nodes, {"u": _normal(8, 4, 3)}, x=[1, 8, 16], y=[1, 4, 18])
    with pytest.raises(NotBenchmarkable, match=r"ConvTranspose 'up' stay in fp32"):
        _export(path, "int8", tmp_path / "cache")


@pytest.mark.usefixtures("no_sessions")
def test_an_int8_lstm_is_refused_by_its_node_without_a_session(lstm: Path, tmp_path: Path) -> None:
    with pytest.raises(NotBenchmarkable, match=r"LSTM 'memory' of an int8 graph in fp32") as told:
        _export(lstm, "int8", tmp_path / "cache", points=({"time": 2},))
    assert told.value.status == "unsupported"


@pytest.mark.usefixtures("no_sessions")
def test_an_fp16_lstm_is_made_and_refused_on_the_cpu_without_a_session(
    lstm: Path, tmp_path: Path
) -> None:
    model = _export(lstm, "fp16", tmp_path / "cache", points=({"time": 5},))
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float16"}
    (file,) = model.references.values()
    reference = load_reference(file)
    assert reference.inputs["x"].dtype == np.float16
    exact = ReferenceEvaluator(str(lstm)).run(["y"], {"x": reference.inputs["x"].astype("float32")})
    assert np.array_equal(reference.outputs["y"], exact[0])
    (got,) = ReferenceEvaluator(model.path).run(["y"], dict(reference.inputs))
    assert got.dtype == np.float16
    assert _error(got, exact[0]) <= FP16_TOLERANCE
    for precision in ("fp16", "fp32"):
        with pytest.raises(Unsupported, match="fp16"):
            OrtCpu().refuse(model, model.axes, Settings(precision=precision))


@pytest.mark.parametrize("name", ["mlp", "cnn_tiny_seq"])
def test_an_fp16_graph_computes_what_the_module_does(
    worker: WorkerProcess, name: str, tmp_path: Path
) -> None:
    model = _ask(worker, name, "fp16")
    proto = onnx.load(model.path)
    assert {tensor.data_type for tensor in proto.graph.initializer} <= {
        TensorProto.FLOAT16,
        TensorProto.INT64,
    }
    assert model.precision_exceptions == ()
    outputs, _ = _run(model, tmp_path)
    (file,) = model.references.values()
    expected = load_reference(file).outputs
    assert all(_error(outputs[key], expected[key]) <= FP16_TOLERANCE for key in expected)


def test_an_operator_that_fp16_conversion_leaves_alone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sums.onnx"
    weights = {"axis": np.array(1)}
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], name="running")
    _save(path, [node], weights, x=[2, 4], y=[2, 4])
    model = _export(path, "fp16", tmp_path / "cache")
    assert model.precision_exceptions == ("CumSum 'running'",)


def test_a_weight_that_nothing_reads_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path, ir_version=3)
    proto = onnx.load(path)
    proto.graph.initializer.append(numpy_helper.from_array(_normal(2), "left_over"))
    proto.graph.input.append(helper.make_tensor_value_info("left_over", TensorProto.FLOAT, [2]))
    onnx.save(proto, path)
    model = _export(path, "fp16", tmp_path / "cache", points=({"batch": 1},))
    assert [spec.name for spec in model.inputs] == ["x"]


def test_a_graph_that_is_fp16_or_int8_already_is_taken_as_it_is(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    for precision in ("fp16", "int8"):
        made = _ask(worker, "mlp", precision)
        path = tmp_path / f"{precision}.onnx"
        path.write_bytes(Path(made.path).read_bytes())
        again = _export(path, precision, tmp_path / "cache", points=({"batch": 2},))
        assert again.sha256 == made.sha256
    with pytest.raises(NotBenchmarkable, match="weights in fp16: give the fp32 graph"):
        _export(tmp_path / "fp16.onnx", "int8", tmp_path / "cache", points=({"batch": 2},))


def test_calibration_samples_set_the_scales(tmp_path: Path) -> None:
    path, cache = tmp_path / "affine.onnx", tmp_path / "cache"
    save_affine(path)
    points = ({"batch": 2},)
    seeded = _export(path, "int8", cache, points=points)
    small, large = tmp_path / "small.npz", tmp_path / "large.npz"
    np.savez(small, x=_normal(5, 64) * 0.01)
    np.savez(large, x=_normal(5, 64) * 50)
    errors = {}
    for file in (small, large):
        model = _export(path, "int8", cache, points=points, calibration=str(file))
        assert model.sha256 != seeded.sha256
        outputs, _ = _run(model, tmp_path)
        (reference,) = model.references.values()
        errors[file] = _error(outputs["y"], load_reference(reference).outputs["y"])
    assert errors[small] > 0.5, "what is far beyond the calibrated range must be clipped"
    assert errors[large] > 0.1, "steps fit for large values are too coarse for these"


def test_a_calibration_file_that_is_gone_is_not_replaced_by_seeded_data(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path)
    _export(path, "int8", tmp_path / "cache", points=({"batch": 1},))
    with pytest.raises(ExportError, match=r"none\.npz cannot be read"):
        _export(
            path,
            "int8",
            tmp_path / "cache",
            points=({"batch": 1},),
            calibration=str(tmp_path / "none.npz"),
        )


def test_an_int8_lstm_of_the_catalogue_is_one_row_that_says_why(worker: WorkerProcess) -> None:
    reply: ExportReply = worker.ask(ExportRequest("lstm_tiny", "int8"))
    assert (reply.status, reply.model) == ("unsupported", None)
    assert "LSTM" in reply.reason
