"""Inputs that a narrower graph can't hold are limited to its largest number, and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from exporters.messages import ExportRequest
from exporters.precision.half_precision import largest_of
from exporters.types import ExportedModel, Precision, Reference, load_reference
from exporters.worker.export import export
from tests.exporters.graphs import graph, tensor

LOWEST = np.finfo(np.float32).min
LARGEST = {"bf16": largest_of(ml_dtypes.bfloat16), "fp16": 65504.0}
VALUES = np.array([[LOWEST, 1.0, np.inf, -np.inf]], np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "softmax.onnx"
    ends = [tensor("x", ["batch", 4])], [tensor("y", ["batch", 4])]
    onnx.save(graph([helper.make_node("Mul", ["x", "w"], ["y"])], *ends, {"w": HALF}), path)
    return path


HALF = np.array([0.5], np.float32)


def exported(model: Path, precision: Precision, **values: Any) -> tuple[ExportedModel, Reference]:
    request = ExportRequest(str(model), precision, cache_dir=str(model.parent / "cache"), **values)
    exported_model = export(request)[0]
    (file,) = exported_model.references.values()
    return exported_model, load_reference(file)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_given_inputs_are_limited_and_the_model_says_so(model: Path, precision: Precision) -> None:
    inputs = model.with_name("inputs.npz")
    np.savez(inputs, x=VALUES)
    limited_model, reference = exported(model, precision, inputs=str(inputs))
    largest = LARGEST[precision]
    limited_rows = [[-largest, 1.0, np.inf, -np.inf]]
    assert reference.inputs["x"].tolist() == limited_rows
    assert np.isfinite(reference.inputs["x"].astype(ml_dtypes.bfloat16)[0, :2]).all()
    # What is expected follows from what is fed.
    assert reference.outputs["y"].tolist() == [[-largest / 2, 0.5, np.inf, -np.inf]]
    (warning,) = limited_model.warnings
    assert (warning.code, warning.subject) == ("input_limited", "x")
    assert warning.parameters == {"precision": precision, "largest": largest}
    wide, full_reference = exported(model, "fp32", inputs=str(inputs))
    assert wide.warnings == ()
    assert full_reference.inputs["x"].tolist() == VALUES.tolist()


def test_inputs_that_fit_share_their_reference_with_the_wide_graph(model: Path) -> None:
    inputs = model.with_name("inputs.npz")
    np.savez(inputs, x=np.array([[3e38, 1.0, np.inf, -np.inf]], np.float32))
    narrow, _ = exported(model, "bf16", inputs=str(inputs))
    wide, _ = exported(model, "fp32", inputs=str(inputs))
    assert narrow.warnings == ()
    assert narrow.references == wide.references


def test_a_range_beyond_the_precision_is_limited_too(model: Path) -> None:
    limited_model, reference = exported(
        model, "bf16", input_range={"x": (3.395e38, 3.4e38)}, points=({"batch": 2},)
    )
    assert reference.inputs["x"].max() == LARGEST["bf16"]
    assert len(limited_model.warnings) == 1


def test_further_sets_of_a_rotation_are_limited(model: Path) -> None:
    paths = [model.with_name(f"{name}.npz") for name in ("first", "second")]
    np.savez(paths[0], x=np.ones((1, 4), np.float32))
    np.savez(paths[1], x=VALUES)
    limited_model, _ = exported(
        model, "bf16", inputs=str(paths[0]), more_inputs=(str(paths[1]),), rotate_inputs=True
    )
    ((file,),) = limited_model.rotation.values()
    assert load_reference(file).inputs["x"][0, 0] == -LARGEST["bf16"]
