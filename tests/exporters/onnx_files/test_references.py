"""A file's references: who computed them, which disagree from which node on, whose data counts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, ValueInfoProto, numpy_helper
from onnx.reference.ops.op_relu import Relu

from exporters import validation
from exporters.messages import ExportRequest
from exporters.onnx_files import evaluator
from exporters.types import (
    EVALUATED,
    PACKAGED,
    SECOND_ENGINE,
    UNOPTIMISED,
    ExportedModel,
    Precision,
    Reference,
)
from exporters.worker import export
from tests.exporters.support import graph, nodes_of, only_reference, tensor

X, Y = tensor("x", [2, 3]), tensor("y", [2, 3])
CHAIN = nodes_of("[negate] a = Neg(x) [cut] b = Relu(a) [sum] y = Add(b, x)")
BOTH = (EVALUATED, UNOPTIMISED)


def _export(
    path: Path, cache: Path, precision: Precision = "fp32"
) -> tuple[ExportedModel, Reference]:
    model, _ = export(ExportRequest(str(path), precision, cache_dir=str(cache)))
    return model, only_reference(model)


def _save(path: Path, nodes: list[NodeProto] = CHAIN, *ends: ValueInfoProto, **how: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    onnx.save(graph(nodes, [X], ends or [Y], **how), path)
    return path


def _data(folder: Path, inputs: np.ndarray, outputs: np.ndarray) -> None:
    folder.mkdir()
    for name, array in (("input_0", inputs), ("output_0", outputs)):
        onnx.save_tensor(numpy_helper.from_array(array), folder / f"{name}.pb")


@pytest.fixture(autouse=True)
def no_second_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO is installed for tests that are about it."""
    if "second_engine" not in request.fixturenames:
        monkeypatch.setattr(evaluator, "is_installed", lambda: False)


@pytest.fixture
def second_engine() -> None:
    pytest.importorskip("openvino")


@pytest.fixture
def broken_relu(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's evaluator computes every Relu wrongly."""
    monkeypatch.setattr(Relu, "_run", lambda self, x: (np.abs(x) + 1,))


@pytest.mark.usefixtures("broken_relu")
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_the_first_node_that_two_evaluators_compute_differently_is_named(
    tmp_path: Path, precision: Precision
) -> None:
    path = _save(tmp_path / "chain.onnx")
    _, reference = _export(path, tmp_path / "cache", precision)
    x = reference.inputs["x"].astype(np.float32)
    assert reference.by == (EVALUATED,)
    assert reference.others[UNOPTIMISED]["y"] == pytest.approx(np.maximum(-x, 0) + x)
    (disagreement,) = reference.disagreements
    assert (disagreement.first, disagreement.second, disagreement.output) == (*BOTH, "y")
    assert (disagreement.node, disagreement.operator) == ("cut", "Relu")


@pytest.mark.usefixtures("broken_relu")
def test_a_difference_in_an_inner_graph_is_one_of_the_node_that_holds_it(tmp_path: Path) -> None:
    nodes = nodes_of("""
        yes = Constant <value = bool {1}> ()
        [choose] z = If (yes) <then_branch = a () => (float[2,3] t) { t = Relu(x) },
                               else_branch = b () => (float[2,3] e) { e = Neg(x) }>
        [last] y = Neg(z)
    """)
    _, reference = _export(_save(tmp_path / "inner.onnx", nodes), tmp_path / "cache")
    (disagreement,) = reference.disagreements
    assert (disagreement.node, disagreement.operator) == ("choose", "If")


@pytest.mark.usefixtures("broken_relu")
def test_the_node_is_found_where_weights_lie_in_another_file(tmp_path: Path) -> None:
    nodes = nodes_of("[add] a = Add(x, w) [cut] y = Relu(a)")
    model = graph(nodes, [X], [Y], {"w": np.ones((2, 3), np.float32)})
    path = tmp_path / "outside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    _, reference = _export(path, tmp_path / "cache")
    (disagreement,) = reference.disagreements
    assert (disagreement.node, disagreement.operator, disagreement.no_node) == ("cut", "Relu", "")


def test_an_evaluator_that_takes_too_long_is_missing_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(self: Relu, x: np.ndarray) -> tuple[np.ndarray]:
        while True:
            pass

    monkeypatch.setattr(Relu, "_run", endless)
    monkeypatch.setattr(evaluator, "EVALUATOR_LIMIT_S", 0.3)
    model, reference = _export(_save(tmp_path / "chain.onnx"), tmp_path / "cache")
    assert (model.reference, reference.by) == (UNOPTIMISED, (UNOPTIMISED,))
    assert "0.3 s" in reference.missing[EVALUATED]
    assert validation.EVALUATOR_LIMIT_S > 1


@pytest.mark.parametrize("packaged", [(), (PACKAGED,)])
def test_where_onnx_runtime_fails_the_evaluator_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packaged: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    x = np.ones((2, 3), np.float32)
    path = _save(tmp_path / "chain.onnx")
    if packaged:
        _data(tmp_path / "test_data_set_0", x, x)
    _, reference = _export(path, tmp_path / "cache")
    assert (reference.by, list(reference.missing)) == ((*packaged, EVALUATED), [UNOPTIMISED])


def test_data_beside_a_file_and_a_runtime_suffice_unless_they_disagree(tmp_path: Path) -> None:
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    right = np.maximum(-x, 0) + x
    for name, outputs in (("right", right), ("wrong", right + 1)):
        folder = tmp_path / name
        path = _save(folder / "chain.onnx")
        _data(folder / "test_data_set_0", x, outputs)
        model, reference = _export(path, tmp_path / "cache")
        assert model.reference == PACKAGED
        assert np.array_equal(reference.inputs["x"], x)
        pairs = {
            (disagreement.first, disagreement.second) for disagreement in reference.disagreements
        }
        if name == "right":
            assert (reference.by, dict(reference.others)) == ((PACKAGED, UNOPTIMISED), {})
            assert pairs == set()
        else:
            assert (reference.by, set(reference.others)) == ((PACKAGED,), {*BOTH})
            assert pairs == {(PACKAGED, EVALUATED), (PACKAGED, UNOPTIMISED)}
        assert reference.missing == {}


def test_what_depends_on_a_node_that_is_not_believed_has_other_references(tmp_path: Path) -> None:
    nodes = nodes_of("y = Relu(x) [winner] a = Hardmax(y) z = Neg(a)")
    path = _save(tmp_path / "middle.onnx", nodes, Y, tensor("z", [2, 3]), opset=12)
    _, reference = _export(path, tmp_path / "cache")
    assert reference.by == (UNOPTIMISED,)
    assert {name: list(outputs) for name, outputs in reference.others.items()} == {EVALUATED: ["y"]}
    assert "winner" in reference.missing[EVALUATED]
    assert reference.missing[EVALUATED].startswith("z: ")
    assert reference.disagreements == ()


def test_data_suffices_where_nobody_can_compute_the_graph(tmp_path: Path) -> None:
    nodes = nodes_of("y = vendor.Unknown(x)")
    path = _save(tmp_path / "vendor.onnx", nodes, vendor="vendor")
    _data(tmp_path / "test_data_set_0", np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    _, reference = _export(path, tmp_path / "cache")
    assert (reference.by, set(reference.missing)) == ((PACKAGED,), {*BOTH})


def test_references_of_packaged_inputs_are_of_the_same_values_in_every_precision(
    tmp_path: Path,
) -> None:
    """An input that float16 cannot hold would set the data apart from what is computed."""
    x = np.full((2, 3), 1.0004, np.float32)
    path = _save(tmp_path / "chain.onnx")
    _data(tmp_path / "test_data_set_0", x, np.maximum(-x, 0) + x)
    _, reference = _export(path, tmp_path / "cache", "fp16")
    assert reference.inputs["x"].dtype == np.float16
    assert (reference.by, reference.disagreements) == ((PACKAGED, UNOPTIMISED), ())


def test_a_data_set_beside_several_models_is_of_one_of_them_and_nobody_knows_which(
    tmp_path: Path,
) -> None:
    first = _save(tmp_path / "a.onnx")
    second = _save(tmp_path / "b.onnx", nodes_of("y = Neg(x)"))
    _data(tmp_path / "test_data_set_0", np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    for path in (first, second):
        model, reference = _export(path, tmp_path / "cache")
        assert (reference.by, list(reference.missing)) == (BOTH, [PACKAGED])
        assert not model.input_files
    second.unlink()
    model, reference = _export(first, tmp_path / "cache")
    assert (model.reference, reference.by) == (PACKAGED, (PACKAGED, UNOPTIMISED))


def test_data_that_bears_the_name_of_its_model_is_of_that_one_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _save(tmp_path / f"{name}.onnx")
    ramp = (np.arange(6).reshape(2, 3) / 6).astype(np.float32)
    onnx.save_tensor(numpy_helper.from_array(ramp), tmp_path / "a_output_0.pb")
    references: Mapping[str, Reference] = {
        name: _export(tmp_path / f"{name}.onnx", tmp_path / "cache")[1] for name in ("a", "b")
    }
    assert references["a"].by == (PACKAGED, UNOPTIMISED)
    assert (references["b"].by, dict(references["b"].missing)) == (BOTH, {})


@pytest.mark.parametrize("checked", [True, False])
def test_a_size_in_which_references_differ_stays_open_and_may_be_a_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    """An engine given the wrong size of an output would fail where it is right."""
    monkeypatch.setattr(Relu, "_run", lambda self, x: (x[:1],))
    path = _save(tmp_path / "open.onnx", nodes_of("y = Relu(x)"), tensor("y", ["rows", 3]))
    request = ExportRequest(
        str(path), states={"y": "x"}, checked=checked, cache_dir=str(tmp_path / "cache")
    )
    model, _ = export(request)
    assert [(pair.output, pair.input) for pair in model.states] == [("y", "x")]
    if checked:
        assert only_reference(model).disagreements[0].relative is None
        assert model.outputs[0].shape == ("rows", 3)


@pytest.mark.usefixtures("broken_relu", "second_engine")
def test_openvino_is_asked_where_two_do_not_agree(tmp_path: Path) -> None:
    _, reference = _export(_save(tmp_path / "chain.onnx"), tmp_path / "cache")
    assert {*reference.by, *reference.others} == {*BOTH, SECOND_ENGINE}
    pairs = {(item.first, item.second) for item in reference.disagreements}
    assert pairs == {BOTH, (EVALUATED, SECOND_ENGINE)}


@pytest.mark.usefixtures("second_engine")
def test_what_openvino_refuses_is_missing_with_its_reason(tmp_path: Path) -> None:
    nodes = nodes_of('y = com.microsoft.CDist <metric = "euclidean"> (x, x)')
    y = tensor("y", [2, 2])
    path = _save(tmp_path / "vendor.onnx", nodes, y, vendor="com.microsoft")
    _, reference = _export(path, tmp_path / "cache")
    assert (reference.by, {*reference.missing}) == ((UNOPTIMISED,), {EVALUATED, SECOND_ENGINE})
