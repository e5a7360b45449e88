"""Every graph has a reference, the row can tell whose, and what fails is blamed for it."""

from __future__ import annotations

import re
from math import erf
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from app.workers.output_check import check_outputs
from exporters.diagnostics import diagnostic
from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import inspect
from exporters.types import (
    UNOPTIMISED,
    ExportedModel,
    ExportError,
    NotBenchmarkable,
    Reference,
    load_reference,
)
from exporters.worker import export
from tests.exporters.support import graph, model_of, nodes_of, only_reference, tensor
from tests.operators.built import library, save_twice

X, Y = tensor("x", ["batch", 8]), tensor("y", ["batch", 8])


def _export(path: Path, cache: Path, **asked: object) -> tuple[ExportedModel, Reference]:
    request = ExportRequest(str(path), points=({"batch": 3},), cache_dir=str(cache), **asked)  # type: ignore[arg-type]
    model, _ = export(request)
    return model, load_reference(model.references["batch=3"])


def _save(path: Path, *nodes: onnx.NodeProto, vendor: str = "", opset: int = 17) -> Path:
    onnx.save(graph(nodes, [X], [Y], opset=opset, vendor=vendor), path)
    return path


def test_a_microsoft_operator_has_a_reference_and_says_whose(tmp_path: Path) -> None:
    node = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    path = _save(tmp_path / "gelu.onnx", node, vendor="com.microsoft")
    model, reference = _export(path, tmp_path / "cache")
    assert (model.reference, model.uncompared) == (UNOPTIMISED, None)
    x = reference.inputs["x"]
    expected = [0.5 * value * (1 + erf(value / 2**0.5)) for value in x.ravel()]
    assert reference.outputs["y"].ravel() == pytest.approx(expected, abs=1e-6)


def test_what_the_first_evaluator_lacks_or_would_get_wrong_the_second_computes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pool.onnx"
    text = """(float[batch,2,5] x) => (float[batch,2,3] y) {
        y = MaxPool <kernel_shape = [2], strides = [2], auto_pad = "VALID", ceil_mode = 1> (x)
    }"""
    onnx.save(model_of(text), path)
    model, reference = _export(path, tmp_path / "cache")
    assert model.reference == UNOPTIMISED
    input_values = reference.inputs["x"]
    expected = np.stack(
        [input_values[..., :2].max(-1), input_values[..., 2:4].max(-1), input_values[..., 4]], -1
    )
    assert np.array_equal(reference.outputs["y"], expected)


def test_operators_of_a_library_are_computed_by_it(tmp_path: Path) -> None:
    path, operators = save_twice(tmp_path / "twice.onnx"), library(tmp_path)
    model, reference = _export(path, tmp_path / "cache", custom_ops=(operators,))
    assert model.custom_ops == (operators,)
    assert model.reference == UNOPTIMISED
    assert np.array_equal(reference.outputs["y"], 2 * reference.inputs["x"])


def test_operators_that_nobody_knows_ask_for_their_library(tmp_path: Path) -> None:
    path = save_twice(tmp_path / "twice.onnx")
    refused, _ = _export(path, tmp_path / "cache")
    assert re.search(r"Twice.*: give --custom-ops .* --no-verify", refused.unfit_at)
    model, reference = _export(path, tmp_path / "cache", checked=False)
    assert (model.reference, dict(reference.outputs)) == ("", {})
    assert model.uncompared == diagnostic("outputs_not_checked")


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    text = tmp_path / "operators.so"
    text.write_text("RegisterCustomOps", "ascii")
    path = save_twice(tmp_path / "twice.onnx")
    with pytest.raises(ExportError, match=r"cannot take the operators of operators\.so .*: give"):
        _export(path, tmp_path / "cache", custom_ops=(str(text),))


@pytest.mark.parametrize("seed", ["", "<seed = 3.0>"])
def test_a_graph_that_draws_is_told_from_one_that_is_wrong(tmp_path: Path, seed: str) -> None:
    """Two engines make different numbers of one seed, so that a seed does not help."""
    nodes = nodes_of(f"r = RandomNormalLike {seed} (x) y = Add(x, r)")
    path = _save(tmp_path / "drawn.onnx", *nodes)
    model, _ = _export(path, tmp_path / "cache")
    assert model.uncompared == diagnostic("reference_not_deterministic", references="onnx")


@pytest.mark.parametrize("seed", ["", "<seed = 3>"])
def test_outputs_that_repeat_are_compared_next_to_random_ones(tmp_path: Path, seed: str) -> None:
    path = tmp_path / "dropout.onnx"
    constants = {"ratio": np.array(0.5, np.float32), "training": np.array(True)}
    text = f"""(float[batch,8] x) => (float[batch,8] dropped, float[batch,8] y) {{
        dropped = Dropout {seed} (x, ratio, training) y = Relu(x) }}"""
    onnx.save(model_of(text, constants), path)
    model, reference = _export(path, tmp_path / "cache")
    assert (model.random_outputs, model.uncompared) == (("dropped",), None)
    assert diagnostic("outputs_not_deterministic", outputs=("dropped",)) in model.warnings
    assert np.array_equal(reference.outputs["y"], np.maximum(reference.inputs["x"], 0))
    other = {"dropped": -reference.outputs["dropped"], "y": reference.outputs["y"]}
    right = check_outputs([other], "fp32", reference, model, None)
    wrong = check_outputs([other | {"y": other["y"] + 1}], "fp32", reference, model, None)
    assert (right.output_ok, wrong.output_ok, wrong.worst_output) == (True, False, "y")


def test_sizes_are_blamed_where_there_are_any(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    text = "(float[batch,k] x) => (float[batch,8] y) { y = MatMul(x, w) }"
    onnx.save(model_of(text, {"w": np.ones((8, 8), np.float32)}), path)
    request = ExportRequest(str(path), points=({"batch": 1, "k": 5},), cache_dir=str(tmp_path))
    assert re.search(r"batch=1,k=5: .* in node 'y'", export(request)[0].unfit_at)


def test_a_graph_without_sizes_to_set_is_not_asked_for_others(tmp_path: Path) -> None:
    """What is drawn for a shape is no shape."""
    path = tmp_path / "reshape.onnx"
    nodes = nodes_of("shape = Concat <axis = 0> (rows, columns) y = Reshape(x, shape)")
    ends = [tensor("x", [2, 7]), tensor("rows", [1], TensorProto.INT64)]
    columns = {"columns": np.array([5])}
    onnx.save(graph(nodes, ends, [tensor("y", ["a", "b"])], columns), path)
    model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    reason = model.unfit_at
    assert "--input-range rows=LOW:HIGH" in reason and "--axis" not in reason


@pytest.mark.parametrize(
    ("op", "constants", "attributes"),
    [
        ("Gather", {"i": np.array([0, 9])}, {}),
        ("Reshape", {"s": np.array([3, 5])}, {}),
        ("Pad", {"p": np.array([0, -7, 0, 7])}, {"mode": "reflect"}),
        ("Tile", {"n": np.array([1, -2])}, {}),
    ],
)
def test_a_constant_of_the_file_is_blamed_and_named(
    tmp_path: Path, op: str, constants: dict[str, np.ndarray], attributes: dict[str, str]
) -> None:
    """In the words of neither numpy nor C++, and without options that can't help."""
    path = tmp_path / "fixed.onnx"
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(op, ["r", *constants], ["y"], name="fails", **attributes),
    ]
    onnx.save(graph(nodes, [tensor("x", [2, 8])], [tensor("y", ["a", "b"])], constants), path)
    model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    reason = model.unfit_at
    assert "'fails'" in reason and f"of the file ({', '.join(constants)})" in reason
    assert not re.search(r"--axis|--inputs|::|\.(cc|h):|cannot reshape|was false", reason)


def test_a_locale_that_the_machine_lacks_is_told_with_what_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    node = helper.make_node("StringNormalizer", ["x"], ["y"], locale="xx_YY.UTF-8")
    node.attribute.append(helper.make_attribute("case_change_action", "LOWER"))
    ends = [tensor("x", [2], TensorProto.STRING)], [tensor("y", [2], TensorProto.STRING)]
    onnx.save(graph([node], *ends), path)
    with pytest.raises(NotBenchmarkable, match="localedef -i xx_YY -f UTF-8"):
        export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))


def test_memory_is_blamed_where_it_is_short(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    nodes = nodes_of("""
        large = ConstantOfShape(size) sum = ReduceSum <keepdims = 0> (large) y = Add(x, sum)
    """)
    onnx.save(graph(nodes, [X], [Y], {"size": np.array([2**46])}), path)
    with pytest.raises(ExportError, match="memory"):
        _export(path, tmp_path / "cache")


def test_an_old_softmax_goes_over_all_axes_from_the_second(tmp_path: Path) -> None:
    """As it ends the zoo's old networks, over pictures of one pixel, without an axis."""
    nodes = nodes_of("""
        h = Conv <kernel_shape = [3, 3]> (x, w) p = GlobalAveragePool(h) y = Softmax(p)
    """)
    weights = np.random.default_rng(1).standard_normal((10, 3, 3, 3)).astype(np.float32)
    ends = tensor("x", [1, 3, 8, 8]), tensor("y", [1, 10, 1, 1])
    path = tmp_path / "old.onnx"
    onnx.save(graph(nodes, [ends[0]], [ends[1]], {"w": weights}, opset=9), path)
    model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    reference = only_reference(model)
    assert (model.reference, reference.disagreements) == ("onnx", ())
    assert {*reference.by, *reference.others} >= {"onnx", UNOPTIMISED}
    assert reference.outputs["y"].sum() == pytest.approx(1.0, rel=1e-5)
    assert reference.outputs["y"].max() > 2 * reference.outputs["y"].min()


@pytest.mark.rare
@pytest.mark.parametrize("kind", ["logistic regression", "boosted trees"])
def test_a_fitted_estimator_predicts_as_its_library(kind: str, tmp_path: Path) -> None:
    data = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    if kind == "logistic regression":
        linear_model = pytest.importorskip("sklearn.linear_model")
        fitted = linear_model.LogisticRegression().fit(data, data[:, :3].argmax(1))
        to_onnx = pytest.importorskip("skl2onnx").to_onnx
        proto = to_onnx(fitted, data[:1], options={"zipmap": False}, target_opset=20)
    else:
        fitted = pytest.importorskip("xgboost").XGBRegressor(n_estimators=20).fit(data, data.sum(1))
        types = pytest.importorskip("onnxmltools.convert.common.data_types")
        ends = [("x", types.FloatTensorType([None, 8]))]
        proto = pytest.importorskip("onnxmltools").convert_xgboost(fitted, initial_types=ends)
    path = tmp_path / "fitted.onnx"
    path.write_bytes(proto.SerializeToString())
    (axis,) = inspect(path).axes
    request = ExportRequest(str(path), points=({axis: 5},), cache_dir=str(tmp_path / "cache"))
    model, _ = export(request)
    reference = only_reference(model)
    (inputs,), first = reference.inputs.values(), next(iter(reference.outputs.values()))
    assert reference.disagreements == () and UNOPTIMISED in {*reference.by, *reference.others}
    assert first.ravel() == pytest.approx(fitted.predict(inputs), rel=1e-4, abs=1e-5)
