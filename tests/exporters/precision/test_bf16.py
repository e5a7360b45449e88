"""A bf16 graph computes what the module does between float32 ends, and says what stays wide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from exporters.agreement import TOLERANCE
from exporters.precision.half_precision import narrowed
from exporters.types import ExportedModel, NotBenchmarkable, load_reference
from tests.exporters.precision.conversions import ask, export_file, normal, relative_error, save
from tests.exporters.support import WorkerProcess, graph, tensor
from tests.seldom import seldom_but


def _worst(model: ExportedModel) -> float:
    """How far ONNX's own evaluator, which rounds to bfloat16, is from what is expected."""
    (file,) = model.references.values()
    reference = load_reference(file)
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


def test_a_graph_in_bf16_is_taken_as_it_is_and_one_in_fp16_is_not(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    for precision in ("bf16", "fp16"):
        path = tmp_path / f"{precision}.onnx"
        path.write_bytes(Path(ask(worker, "mlp", precision).path).read_bytes())
    again = export_file(tmp_path / "bf16.onnx", "bf16", tmp_path / "cache", point={"batch": 2})
    assert again.sha256 == ask(worker, "mlp", "bf16").sha256
    with pytest.raises(NotBenchmarkable, match="weights in fp16: give the fp32 graph"):
        export_file(tmp_path / "fp16.onnx", "bf16", tmp_path / "cache", point={"batch": 2})


def test_an_operator_without_a_bf16_form_is_named_and_works_in_float32(tmp_path: Path) -> None:
    path = tmp_path / "island.onnx"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="before"),
        helper.make_node("Einsum", ["h", "v"], ["k"], name="between", equation="ab,bc->ac"),
        helper.make_node("MatMul", ["k", "w"], ["y"], name="after"),
    ]
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
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["h"], [f"{op}_y"])], op, [], [tensor(f"{op}_y", None)]
        )
        for op in ("Abs", "Neg")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("If", ["yes"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    save(path, nodes, {"w": normal(8, 8), "yes": np.array(True)}, x=[2, 8], y=[2, 8])
    model = export_file(path, "bf16", tmp_path / "cache")
    assert model.precision_exceptions == ("If 'y'",)
    assert 0 < _worst(model) <= TOLERANCE["bf16"]


def test_whole_numbers_are_not_rounded_on_their_way_to_whole_numbers(tmp_path: Path) -> None:
    """Positions beyond 256 would collide in the 8 bits of bfloat16's mantissa."""
    nodes = [
        helper.make_node("Cast", ["ids"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["f"], ["back"], to=TensorProto.INT64),
    ]
    ids, back = (tensor(name, [4], TensorProto.INT64) for name in ("ids", "back"))
    proto = graph(nodes, [ids], [back], opset=22)
    assert narrowed(proto, _types_of(proto)) == []
    token_ids = np.array([255, 257, 1001, 65537])
    (actual_ids,) = ReferenceEvaluator(proto).run(["back"], {"ids": token_ids})
    assert np.array_equal(np.asarray(actual_ids), token_ids)
