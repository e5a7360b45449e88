"""Counts of a user's graph are those of the formulas, whatever form its weights have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper

from exporters.files.counts import Counts, count
from exporters.request import ExportRequest
from tests.exporters.graphs import LIGHT, graph, save_affine, tensor
from tests.exporters.support import WorkerProcess


def _model(nodes: list[NodeProto], x: list[int | str], **weights: np.ndarray) -> ModelProto:
    return graph(nodes, [tensor("x", x)], [tensor("y", None)], weights, opset=20)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_a_grouped_convolution_with_its_norm() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["h"], group=2, pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["h", "g", "o", "m", "v"], ["y"]),
    ]
    norm = {name: _zeros(6) for name in "gomv"}
    model = _model(nodes, ["n", 4, 8, 8], w=_zeros(6, 2, 3, 3), b=_zeros(6), **norm)
    weights = 6 * 2 * 9 + 6 + 2 * 6
    assert count(model, {"n": 5}) == Counts(weights, weights + 2 * 6, 5 * 6 * 64 * 2 * 9)


def test_weights_made_by_constant_nodes_count_once_folded() -> None:
    nodes = [
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(_zeros(5, 3))),
        helper.make_node("Transpose", ["k"], ["w"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Mul", ["h", "half"], ["y"]),
    ]
    model = _model(nodes, [2, 3], half=np.array(0.5, np.float32))
    assert count(model, {}) == Counts(15, 15, 2 * 5 * 3)


def test_a_weight_read_twice_counts_once_and_multiplies_twice() -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["h"], transB=1),
        helper.make_node("Gemm", ["h", "w"], ["y"]),
    ]
    assert count(_model(nodes, [7, 3], w=_zeros(4, 3)), {}) == Counts(12, 12, 7 * 12 * 2)


def test_a_recurrent_layer_multiplies_both_matrices_at_each_step() -> None:
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "b", "", "h", "c"], ["y"], hidden_size=4, direction="bidirectional"
    )
    states = {name: _zeros(2, 3, 4) for name in "hc"}
    model = _model(
        [node], ["t", 3, 5], w=_zeros(2, 16, 5), r=_zeros(2, 16, 4), b=_zeros(2, 32), **states
    )
    matrices = 2 * 16 * (5 + 4)
    assert count(model, {"t": 10}) == Counts(matrices + 64, matrices + 64, 10 * 3 * matrices)


def test_a_transposed_convolution_counts_by_its_input() -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2])
    model = _model([node], [1, 8, 10], w=_zeros(8, 4, 3))
    assert count(model, {}) == Counts(96, 96, 10 * 8 * 4 * 3)


def test_what_no_formula_covers_is_not_guessed() -> None:
    einsum = helper.make_node("Einsum", ["x", "w"], ["y"], equation="ij,jk->ik")
    assert count(_model([einsum], [2, 3], w=_zeros(3, 4)), {}) == Counts(12, 12, None)
    custom = helper.make_node("FusedMatMul", ["x", "w"], ["y"], domain="a.vendor")
    assert count(_model([custom], [2, 3], w=_zeros(3, 4)), {}).macs is None


def test_a_fitted_estimator_that_keeps_its_numbers_in_attributes_is_not_said_to_have_none() -> None:
    domain = "ai.onnx.ml"
    ends = [tensor("x", [2, 3])], [tensor("y", [2, 1])]
    linear = helper.make_node("LinearRegressor", ["x"], ["y"], domain=domain, coefficients=[1.0])
    fitted = graph([linear], *ends, vendor=domain, opset=20)
    assert count(fitted, {}) == Counts(None, None, None)
    binary = helper.make_node("Binarizer", ["x"], ["y"], domain=domain, threshold=0.5)
    plain = graph([binary], *ends[:1], [tensor("y", [2, 3])], vendor=domain, opset=20)
    assert count(plain, {}) == Counts(0, 0, 0)


@pytest.mark.parametrize(
    ("name", "parameters", "macs"),
    [
        # Krizhevsky 2012 (grouped), Simonyan 2014, He 2015: the counts of the published networks.
        ("light_bvlc_alexnet", 60_965_224, None),
        ("light_vgg19", 143_667_240, 19_632_062_464),
        ("light_resnet50", 25_557_032, None),
    ],
)
def test_published_networks_have_their_published_counts(
    name: str, parameters: int, macs: int | None
) -> None:
    counts = count(onnx.load(LIGHT / f"{name}.onnx"), {})
    assert counts.parameters == parameters
    assert macs is None or counts.macs == macs


def test_a_model_exported_here_counts_as_its_module(worker: WorkerProcess, tmp_path: Path) -> None:
    module = worker.ask(ExportRequest("lstm_tiny")).model
    assert module is not None
    path = tmp_path / "mine.onnx"
    path.write_bytes(Path(module.path).read_bytes())
    file = worker.ask(ExportRequest(str(path), points=({"batch": 1},))).model
    assert file is not None
    assert (file.parameters, file.macs) == (module.parameters, module.macs) == (268_320, 266_240)


def test_weights_in_another_file_count_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path, external="weights.bin")
    (tmp_path / "weights.bin").unlink()
    model = onnx.load(path, load_external_data=False)
    assert count(model, {"batch": 3}) == Counts(64 * 32, 64 * 32, 3 * 64 * 32)
