"""A narrower float graph computes what the module does, without a session of it here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from exporters.agreement import TOLERANCE, tolerance_of
from exporters.precision.half_precision import narrowed
from exporters.types import ExportedModel, Precision
from runtimes.errors import Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.exporters.precision.conversions import (
    ask,
    export_file,
    normal,
    relative_error,
    run,
    save,
)
from tests.exporters.support import (
    WorkerProcess,
    graph,
    nodes_of,
    only_reference,
    save_affine,
    tensor,
)
from tests.seldom import seldom_but

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
    reference = only_reference(model)
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
    expected = only_reference(model).outputs
    assert all(relative_error(outputs[key], expected[key]) <= FP16_TOLERANCE for key in expected)


def test_a_weight_that_nothing_reads_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path, ir_version=3)
    proto = onnx.load(path)
    proto.graph.initializer.append(numpy_helper.from_array(normal(2), "left_over"))
    proto.graph.input.append(helper.make_tensor_value_info("left_over", TensorProto.FLOAT, [2]))
    onnx.save(proto, path)
    model = export_file(path, "fp16", tmp_path / "cache", point={"batch": 1})
    assert [spec.name for spec in model.inputs] == ["x"]


LARGEST = 448.0
"""Of E4M3, in the specification of the Open Compute Project."""


@pytest.mark.parametrize("name", ["mlp", "cnn_tiny_seq"])
def test_products_read_fp8_and_compute_what_the_module_does(
    worker: WorkerProcess, name: str
) -> None:
    model = ask(worker, name, "fp8")
    assert (model.precision, model.narrowest, model.precision_exceptions) == ("fp8", "fp8", ())
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float32"}
    proto = onnx.load(model.path)
    maker = {name: node for node in proto.graph.node for name in node.output}
    weight_types = {weight.name: weight.data_type for weight in proto.graph.initializer}
    products = [node for node in proto.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    assert products
    for product in products:
        data, weight = (maker[operand] for operand in product.input[:2])
        assert data.op_type == weight.op_type == "DequantizeLinear"
        assert maker[data.input[0]].op_type == "QuantizeLinear"
        assert weight_types[weight.input[0]] == TensorProto.FLOAT8E4M3FN
    reference = only_reference(model)
    names = [spec.name for spec in model.outputs]
    actual_outputs = ReferenceEvaluator(model.path).run(names, dict(reference.inputs))
    tolerance = tolerance_of([model.narrowest], model.depth, model.outputs)
    for output, array in zip(names, actual_outputs, strict=True):
        assert 0 < relative_error(np.asarray(array), reference.outputs[output]) <= tolerance


def test_each_channel_of_a_weight_and_the_calibrated_extreme_fill_the_range(tmp_path: Path) -> None:
    path, samples = tmp_path / "affine.onnx", tmp_path / "samples.npz"
    weights = normal(4, 3) * np.array([1e-3, 1, 1e3], np.float32)
    save(path, [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weights}, [2, 4], [2, 3])
    np.savez(samples, x=np.array([[1, 2, -7, 3], [0, 1, 1, 1]], np.float32))
    model = export_file(path, "fp8", tmp_path / "cache", calibration=str(samples))
    proto = onnx.load(model.path)
    weight_arrays = {
        w.name: numpy_helper.to_array(w).astype(np.float32) for w in proto.graph.initializer
    }
    scales = {
        n.op_type: weight_arrays[n.input[1]]
        for n in proto.graph.node
        if n.op_type == "QuantizeLinear"
    }
    assert scales["QuantizeLinear"] == pytest.approx(7 / LARGEST)
    stored_weight = next(array for array in weight_arrays.values() if array.shape == (4, 3))
    assert np.abs(stored_weight).max(axis=0).tolist() == [LARGEST] * 3


def test_outputs_of_zeros_are_wrong_however_deep_an_fp8_graph_is() -> None:
    assert tolerance_of(["fp8"], 1, []) == TOLERANCE["fp8"]
    assert TOLERANCE["fp8"] < tolerance_of(["fp8"], 2, []) < tolerance_of(["fp8"], 1000, []) < 1


def _worst(model: ExportedModel) -> float:
    """How far ONNX's own evaluator, which rounds to bfloat16, is from what is expected."""
    reference = only_reference(model)
    names = [spec.name for spec in model.outputs]
    outputs = ReferenceEvaluator(model.path).run(names, dict(reference.inputs))
    pairs = zip(names, map(np.asarray, outputs), strict=True)
    return max(relative_error(array, reference.outputs[name]) for name, array in pairs)


def _types_of(proto: ModelProto) -> dict[str, int]:
    inferred_graph = onnx.shape_inference.infer_shapes(proto, strict_mode=True).graph
    values = (*inferred_graph.value_info, *inferred_graph.output, *inferred_graph.input)
    return {value.name: value.type.tensor_type.elem_type for value in values}


@pytest.mark.parametrize("name", seldom_but(("mlp",), ["mlp", "cnn_tiny_seq", "lstm_tiny"]))
def test_a_bf16_graph_computes_what_the_module_does(worker: WorkerProcess, name: str) -> None:
    model = ask(worker, name, "bf16")
    assert (model.precision, model.narrowest, model.precision_exceptions) == ("bf16", "bf16", ())
    assert {spec.dtype for spec in (*model.inputs, *model.outputs)} == {"float32"}
    proto = onnx.load(model.path)
    weight_types = {weight.data_type for weight in proto.graph.initializer}
    assert weight_types <= {TensorProto.BFLOAT16, TensorProto.INT64, TensorProto.INT32}
    types = _types_of(proto)
    products = [n for n in proto.graph.node if n.op_type in ("Conv", "Gemm", "MatMul", "LSTM")]
    assert products
    assert {types[node.output[0]] for node in products} <= {TensorProto.BFLOAT16, 0}
    assert 0 < _worst(model) <= TOLERANCE["bf16"]
    assert model.references == ask(worker, name, "fp32").references


def test_an_operator_without_a_bf16_form_is_named_and_works_in_float32(tmp_path: Path) -> None:
    path = tmp_path / "island.onnx"
    nodes = nodes_of("""
        [before] h = MatMul(x, w) [between] k = Einsum <equation = "ab,bc->ac"> (h, v)
        [after] y = MatMul(k, w)
    """)
    save(path, nodes, {"w": normal(8, 8), "v": normal(8, 8)}, x=["batch", 8], y=["batch", 8])
    model = export_file(path, "bf16", tmp_path / "cache", point={"batch": 2})
    assert model.precision_exceptions == ("Einsum 'between'",)
    proto = onnx.load(model.path)
    types = _types_of(proto) | {w.name: w.data_type for w in proto.graph.initializer}
    input_types = {node.name: types[node.input[0]] for node in proto.graph.node}
    assert input_types["before"] == input_types["after"] == TensorProto.BFLOAT16
    assert input_types["between"] == TensorProto.FLOAT
    assert 0 < _worst(model) <= TOLERANCE["bf16"]


def test_what_an_inner_graph_reads_stays_there_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "branches.onnx"
    nodes = nodes_of("""
        h = MatMul(x, w) y = If (yes) <then_branch = a () => (float[] t) { t = Abs(h) },
                                       else_branch = b () => (float[] e) { e = Neg(h) }>
    """)
    save(path, nodes, {"w": normal(8, 8), "yes": np.array(True)}, x=[2, 8], y=[2, 8])
    model = export_file(path, "bf16", tmp_path / "cache")
    assert model.precision_exceptions == ("If 'y'",)
    assert 0 < _worst(model) <= TOLERANCE["bf16"]


def test_whole_numbers_are_not_rounded_on_their_way_to_whole_numbers(tmp_path: Path) -> None:
    """Positions beyond 256 would collide in the 8 bits of bfloat16's mantissa."""
    nodes = nodes_of("f = Cast <to = 1> (ids) back = Cast <to = 7> (f)")
    ids, back = (tensor(name, [4], TensorProto.INT64) for name in ("ids", "back"))
    proto = graph(nodes, [ids], [back], opset=22)
    assert narrowed(proto, _types_of(proto)) == []
    token_ids = np.array([255, 257, 1001, 65537])
    (actual_ids,) = ReferenceEvaluator(proto).run(["back"], {"ids": token_ids})
    assert np.array_equal(np.asarray(actual_ids), token_ids)
