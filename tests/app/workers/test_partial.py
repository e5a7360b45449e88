"""A graph that the card takes only in part ends as partial with its nodes, whatever came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

from exporters.diagnostics.catalogue import codes
from exporters.types import (
    PACKAGED,
    ExportedModel,
    Reference,
    TensorSpec,
    axes_key,
    save_reference,
)
from tests.app.workers.conftest import AXES, Measure

SHAPE = (1, 3, 8, 8)


def described(path: Path, reference: Path) -> ExportedModel:
    """A file with one input x and one output y, beside what ONNX's evaluator says of it."""
    x = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    (out,) = ReferenceEvaluator(str(path)).run(None, {"x": x})
    y = np.asarray(out)
    save_reference(str(reference), Reference({"x": x}, {"y": y}, (PACKAGED,)))
    return ExportedModel(
        name=path.stem,
        suite="",
        family="",
        path=str(path),
        sha256="",
        opset=20,
        precision="fp32",
        inputs=(TensorSpec("x", "float32", ("batch", *SHAPE[1:])),),
        outputs=(TensorSpec("y", "float32", ("batch", *y.shape[1:])),),
        axes=AXES,
        references={axes_key(AXES): str(reference)},
        reference="onnx",
    )


def saved(path: Path, nodes: list[onnx.NodeProto], **constants: np.ndarray) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("batch", *SHAPE[1:]))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


@pytest.fixture
def quantized(tmp_path: Path) -> ExportedModel:
    """Two convolutions as onnxruntime's quantizer leaves them, between Q and DQ nodes."""
    rng = np.random.default_rng(1)
    plain = saved(
        tmp_path / "plain.onnx",
        [
            helper.make_node("Conv", ["x", "v"], ["h"], name="first"),
            helper.make_node("Relu", ["h"], ["r"], name="relu"),
            helper.make_node("Conv", ["r", "w"], ["y"], name="second"),
        ],
        v=rng.normal(size=(8, 3, 3, 3)).astype(np.float32),
        w=rng.normal(size=(4, 8, 3, 3)).astype(np.float32),
    )

    class Samples(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        def __init__(self) -> None:
            self.left: Iterator[Mapping[str, np.ndarray]] = iter(
                {"x": rng.normal(size=SHAPE).astype(np.float32)} for _ in range(4)
            )

        def get_next(self) -> Mapping[str, np.ndarray] | None:
            return next(self.left, None)

    path = tmp_path / "quantized.onnx"
    quantize_static(plain, path, Samples(), quant_format=QuantFormat.QDQ)
    return described(path, tmp_path / "quantized.npz")


def test_a_quantised_graph_is_partial_and_names_its_nodes(
    measure: Measure, quantized: ExportedModel
) -> None:
    result, records, _ = measure("fpga:v80", model=quantized)
    assert result.status == "partial"
    assert "QuantizeLinear 'x_QuantizeLinear' on CPUExecutionProvider" in result.reason
    assert result.check is not None
    assert len(records) == 0


def test_a_partial_graph_with_other_outputs_still_says_what_it_left(
    measure: Measure, tmp_path: Path
) -> None:
    """It was run_failed without a node: the difference took the place of `partial`."""
    path = saved(
        tmp_path / "split.onnx",
        [
            helper.make_node("Add", ["x", "far"], ["moved"], name="there"),
            helper.make_node("Sub", ["moved", "far"], ["back"], name="and_back"),
            helper.make_node("Det", ["back"], ["y"], name="determinant"),
        ],
        far=np.array(4096, np.float32),
    )
    model = replace(described(path, tmp_path / "split.npz"), name="split")
    result, records, _ = measure("fpga:v80", model=model)
    assert result.status == "partial"
    assert "Det 'determinant' on CPUExecutionProvider" in result.reason
    assert result.facts["partitions"] == 2, "the card, then the processor"
    assert "splitting_nodes" not in result.facts, "nothing of the card's comes after it"
    assert result.check is not None
    assert not result.check.output_ok
    assert "outputs_inexact" in codes(result.warnings)
    assert len(records) == 0


def test_a_node_that_splits_the_graph_is_named(measure: Measure, tmp_path: Path) -> None:
    path = saved(
        tmp_path / "between.onnx",
        [
            helper.make_node("Relu", ["x"], ["positive"], name="before"),
            helper.make_node("Det", ["positive"], ["scale"], name="between"),
            helper.make_node("Relu", ["scale"], ["y"], name="after"),
        ],
    )
    model = replace(described(path, tmp_path / "between.npz"), name="between")
    result, _, _ = measure("fpga:v80", model=model)
    assert result.status == "partial"
    assert result.facts["partitions"] == 3
    assert result.facts["splitting_nodes"] == "Det 'between' on CPUExecutionProvider"
