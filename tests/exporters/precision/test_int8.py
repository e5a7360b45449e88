"""An int8 graph runs in int8, and what cannot be had so is told without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from exporters.types import ExportError, NotBenchmarkable, Precision
from tests.exporters.precision.conversions import (
    ask,
    export_file,
    normal,
    relative_error,
    run,
    save,
)
from tests.exporters.support import WorkerProcess, nodes_of, only_reference, save_affine
from tests.operators.built import DOMAIN, library

INT8_TOLERANCE = 0.1


@pytest.mark.parametrize("name", ["mlp", "cnn_tiny", "cnn_tiny_seq"])
def test_every_matrix_node_of_an_int8_graph_runs_in_int8(
    worker: WorkerProcess, name: str, tmp_path: Path
) -> None:
    model = ask(worker, name, "int8")
    outputs, op_types = run(model, tmp_path)
    assert not op_types & {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"}
    assert op_types & {"QLinearConv", "QGemm", "QLinearMatMul"}
    assert model.precision == "int8"
    assert model.precision_exceptions == ()
    expected = only_reference(model).outputs
    assert all(relative_error(outputs[key], expected[key]) <= INT8_TOLERANCE for key in expected)
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float32"}
    exact = ask(worker, name, "fp32")
    assert (model.references, model.parameters) == (exact.references, exact.parameters)
    assert model.sha256 != exact.sha256


@pytest.mark.parametrize("form", ["old", "external"])
def test_weights_in_any_form_are_quantised(tmp_path: Path, form: str) -> None:
    path = tmp_path / "affine.onnx"
    if form == "old":
        save_affine(path, ir_version=3)
    else:
        save_affine(path, external="weights.bin")
    model = export_file(path, "int8", tmp_path / "cache", point={"batch": 2})
    assert model.precision_exceptions == ()
    proto = onnx.load(model.path)
    assert [value.name for value in proto.graph.input] == ["x"]
    assert model.opset == next(o.version for o in proto.opset_import if not o.domain)
    assert model.parameters == 64 * 32
    outputs, _ = run(model, tmp_path)
    assert relative_error(outputs["y"], only_reference(model).outputs["y"]) <= INT8_TOLERANCE


def test_what_shapes_alone_decide_is_added_in_float(tmp_path: Path) -> None:
    """As the kinds of tokens of a BERT that is given none: with a fixed batch a constant, on which
    OpenVINO's own passes fail where it is quantised."""
    path = tmp_path / "kinds.onnx"
    table = np.arange(16, dtype=np.float32).reshape(2, 8) / 16
    kind = numpy_helper.from_array(np.array([1]))
    arrays = {"w": normal(8, 8), "v": normal(8, 8), "table": table, "first": np.array([0])}
    nodes = [
        *nodes_of("sizes = Shape(x) rows = Gather(sizes, first)"),
        helper.make_node("ConstantOfShape", ["rows"], ["kind"], value=kind),
        *nodes_of("""
            kinds = Gather(table, kind) h = MatMul(x, w) sum = Add(h, kinds) y = MatMul(sum, v)
        """),
    ]
    save(path, nodes, arrays, ["batch", 8], ["batch", 8])
    model = export_file(path, "int8", tmp_path / "cache", {"batch": 4})
    producers = {
        out: node.op_type for node in onnx.load(model.path).graph.node for out in node.output
    }
    (add,) = (node for node in onnx.load(model.path).graph.node if node.op_type == "Add")
    assert producers[add.input[1]] == "Gather"
    openvino = pytest.importorskip("openvino")
    openvino_model = openvino.Core().read_model(model.path)
    openvino_model.reshape([4, 8])
    openvino.Core().compile_model(openvino_model, "CPU")


STAYS: dict[str, tuple[Precision, str, dict[str, tuple[int, ...]], list[Any], list[Any], str]] = {
    "of fp16": ("fp16", "[up] y = CumSum(x, axis)", {}, [2, 4], [2, 4], "CumSum 'up'"),
    "of int8": (
        "int8",
        "h = Conv <kernel_shape = [3]> (x, w) [up] y = ConvTranspose <kernel_shape = [3]> (h, u)",
        {"w": (8, 4, 3), "u": (8, 4, 3)},
        ["batch", 4, 16],
        ["batch", 4, 16],
        "ConvTranspose 'up'",
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_a_node_that_stays_in_float_is_named(tmp_path: Path, name: str) -> None:
    precision, text, shapes, x, y, told = STAYS[name]
    weights = {"axis": np.array(1)} | {key: normal(*shape) for key, shape in shapes.items()}
    save(tmp_path / "net.onnx", nodes_of(text), weights, x=x, y=y)
    point = {"batch": 1} if "batch" in x else {}
    model = export_file(tmp_path / "net.onnx", precision, tmp_path / "cache", point=point)
    assert model.precision_exceptions == (told,)


UP = "[up] y = ConvTranspose <kernel_shape = [3]> (x, u)"


@pytest.mark.parametrize(
    ("precision", "text", "y", "named"),
    [("int8", "y = Relu(x)", 16, ""), ("fp8", "y = Relu(x)", 16, ""), ("int8", UP, 18, "'up'")],
)
def test_a_graph_of_which_nothing_could_run_so_is_refused(
    tmp_path: Path, precision: Precision, text: str, y: int, named: str
) -> None:
    path = tmp_path / "net.onnx"
    save(path, nodes_of(text), {"u": normal(8, 8, 3)}, x=[1, 8, 16], y=[1, 8, y])
    with pytest.raises(NotBenchmarkable) as refusal:
        export_file(path, precision, tmp_path / "cache")
    assert named in str(refusal.value)


@pytest.mark.usefixtures("no_sessions")
@pytest.mark.parametrize("precision", ["int8", "fp8"])
def test_an_lstm_is_refused_by_its_node_without_a_session(
    lstm: Path, tmp_path: Path, precision: Precision
) -> None:
    with pytest.raises(NotBenchmarkable, match="'memory'") as refusal:
        export_file(lstm, precision, tmp_path / "cache", point={"time": 2})
    assert refusal.value.status == "unsupported"


def test_calibration_samples_set_the_scales(tmp_path: Path) -> None:
    path, cache = tmp_path / "affine.onnx", tmp_path / "cache"
    save_affine(path)
    point = {"batch": 2}
    seeded_model = export_file(path, "int8", cache, point=point)
    small, large = tmp_path / "small.npz", tmp_path / "large.npz"
    np.savez(small, x=normal(5, 64) * 0.01)
    np.savez(large, x=normal(5, 64) * 50)
    errors = {}
    for file in (small, large):
        model = export_file(path, "int8", cache, point=point, calibration=str(file))
        assert model.sha256 != seeded_model.sha256
        outputs, _ = run(model, tmp_path)
        errors[file] = relative_error(outputs["y"], only_reference(model).outputs["y"])
    assert errors[small] > 0.5, "what is far beyond the calibrated range must be clipped"
    assert errors[large] > 0.1, "steps fit for large values are too coarse for these"


def test_a_calibration_file_that_is_gone_is_not_replaced_by_seeded_data(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path)
    export_file(path, "int8", tmp_path / "cache", point={"batch": 1})
    gone = str(tmp_path / "none.npz")
    with pytest.raises(ExportError, match=r"none\.npz"):
        export_file(path, "int8", tmp_path / "cache", {"batch": 1}, calibration=gone)


def test_a_quantised_graph_with_an_operator_of_a_library_is_int8_with_it_and_a_float_one_is_not(
    tmp_path: Path,
) -> None:
    path, affine = tmp_path / "twice.onnx", tmp_path / "affine.onnx"
    libraries, point = (library(tmp_path),), {"batch": 2}
    save_affine(affine)
    _save_doubled(Path(export_file(affine, "int8", tmp_path / "cache", point).path), path)
    model = export_file(path, "int8", tmp_path / "cache", point, custom_ops=libraries)
    assert (model.precision, model.precision_exceptions) == ("int8", ())
    with pytest.raises(NotBenchmarkable, match="Twice"):
        export_file(path, "int8", tmp_path / "cache", point)
    _save_doubled(affine, path)
    with pytest.raises(NotBenchmarkable, match="'twice'"):
        export_file(path, "int8", tmp_path / "cache", point, custom_ops=libraries)


def _save_doubled(source: Path, path: Path) -> None:
    """y becomes Twice of what it was."""
    model = onnx.load(source)
    for node in model.graph.node:
        node.output[:] = ["once" if name == "y" else name for name in node.output]
    model.graph.node.append(helper.make_node("Twice", ["once"], ["y"], "twice", domain=DOMAIN))
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    onnx.save(model, path)
