"""Finite numbers stay finite in every narrower format, and infinities and NaN stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from exporters.inputs import cast_inputs
from exporters.messages import ExportRequest
from exporters.precision.fp8 import to_fp8
from exporters.precision.graphs import MODEL
from exporters.precision.half_precision import (
    finite_cast,
    largest_of,
    limit_constants,
    to_bf16,
    to_fp16,
)
from exporters.types import ExportedModel, Precision, Reference, TensorSpec, load_reference
from exporters.user_arrays import Calibration
from exporters.worker import export
from tests.differential_lowered.precisions import run, widened
from tests.exporters.support import graph, nodes_of, only_reference, tensor

LOWEST = np.finfo(np.float32).min
MASK = np.array([[0, LOWEST, 0], [LOWEST, LOWEST, LOWEST]], np.float32)
SCORES = np.array([[1, 2, 3], [1, 2, 3]], np.float32)
FORMS = ("weight", "Constant", "value_floats", "ConstantOfShape", "If", "function", "double")


def attention(form: str) -> ModelProto:
    """Shares of scores under a mask that the graph holds in this form; row 1 is masked whole."""
    weights: dict[str, np.ndarray] = {"seen": MASK == 0}
    mask_constant = numpy_helper.from_array(MASK)
    held = helper.make_node("Constant", [], ["mask"], value=mask_constant)
    match form:
        case "weight":
            weights["mask"] = MASK
            nodes = []
        case "Constant":
            nodes = [held]
        case "value_floats":
            weights["shape"] = np.array([2, 3])
            flat = helper.make_node("Constant", [], ["flat"], value_floats=MASK.ravel().tolist())
            nodes = [flat, helper.make_node("Reshape", ["flat", "shape"], ["mask"])]
        case "ConstantOfShape":
            weights |= {"shape": np.array([2, 3]), "zero": np.array(0, np.float32)}
            low = numpy_helper.from_array(np.array([LOWEST], np.float32))
            full = helper.make_node("ConstantOfShape", ["shape"], ["full"], value=low)
            nodes = [full, helper.make_node("Where", ["seen", "zero", "full"], ["mask"])]
        case "If":
            weights["yes"] = np.array(True)
            held.output[0] = "held"
            branch = helper.make_graph([held], "branch", [], [tensor("held", [2, 3])])
            nodes = [
                helper.make_node("If", ["yes"], ["mask"], then_branch=branch, else_branch=branch)
            ]
        case "function":
            nodes = [helper.make_node("Mask", [], ["mask"], domain="own")]
        case _:
            weights["wide"] = MASK.astype(np.float64)
            nodes = [helper.make_node("Cast", ["wide"], ["mask"], to=TensorProto.FLOAT)]
    nodes += nodes_of("scores = Add(x, mask) y = Softmax <axis = -1> (scores)")
    ends = [tensor("x", [2, 3])], [tensor("y", [2, 3])]
    proto = graph(nodes, *ends, weights, vendor="own" if form == "function" else "")
    if form == "function":
        opsets = [helper.make_opsetid("", 17)]
        proto.functions.append(helper.make_function("own", "Mask", [], ["mask"], [held], opsets))
    return proto


@pytest.mark.parametrize("form", FORMS)
def test_attention_masked_by_the_lowest_number_is_no_nan_in_half_precision(
    form: str, tmp_path: Path
) -> None:
    proto = attention(form)
    (expected,) = run(proto, {"x": SCORES})
    assert np.allclose(expected[1], 1 / 3)
    path = tmp_path / "given.onnx"
    onnx.save(proto, path)
    for convert, narrow in ((to_bf16, TensorProto.BFLOAT16), (to_fp16, TensorProto.FLOAT16)):
        if (convert, form) == (to_fp16, "double"):
            continue  # float64 is no precision that the converter to fp16 touches
        folder = tmp_path / f"{narrow}"
        folder.mkdir()
        half_proto = onnx.load(convert(folder, "masked", path).files[MODEL])
        (actual,) = run(widened(half_proto, narrow), {"x": SCORES})
        assert np.allclose(actual, expected, atol=1e-2)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_only_finite_numbers_are_limited(dtype: type) -> None:
    array = np.array([LOWEST, -LOWEST, np.inf, -np.inf, np.nan, 1e-45, 0, 1], np.float32)
    cast = finite_cast(array, dtype).astype(np.float64)
    largest = largest_of(dtype)
    assert cast[:4].tolist() == [-largest, largest, np.inf, -np.inf]
    assert np.isnan(cast[4])
    assert (cast[5:] >= 0).all()
    assert cast[7] == 1


def test_sparse_constants_are_limited() -> None:
    proto = graph([], [], [])
    values = numpy_helper.from_array(np.array([LOWEST, 2], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 3]))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    limit_constants(proto, ml_dtypes.bfloat16)
    limited_values = numpy_helper.to_array(proto.graph.sparse_initializer[0].values)
    assert limited_values.tolist() == [-largest_of(ml_dtypes.bfloat16), 2]


def test_inputs_in_float16_stay_finite() -> None:
    arrays = {"x": np.array([LOWEST, 70000, np.inf, np.nan, 1], np.float32)}
    cast = cast_inputs(arrays, [TensorSpec("x", "float16", (5,))])["x"]
    assert cast.dtype == np.float16
    assert cast[:3].tolist() == [-65504, 65504, np.inf]
    assert np.isnan(cast[3])


def test_weights_below_the_scales_of_fp8_become_zero(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    weights = {"w": np.array([[1, 1e-44], [2, 0]], np.float32)}
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    onnx.save(graph([node], [tensor("x", [1, 2])], [tensor("y", [1, 2])], weights), path)
    x = np.ones((1, 2), np.float32)
    samples = Calibration("one", lambda: [{"x": x}])
    proto = onnx.load(to_fp8(tmp_path, "tiny", path, samples).files[MODEL])
    (actual,) = run(proto, {"x": x})
    assert actual.tolist() == [[3, 0]]


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
    return exported_model, only_reference(exported_model)


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


def test_further_sets_of_a_rotation_are_limited(model: Path) -> None:
    paths = [model.with_name(f"{name}.npz") for name in ("first", "second")]
    np.savez(paths[0], x=np.ones((1, 4), np.float32))
    np.savez(paths[1], x=VALUES)
    limited_model, _ = exported(
        model, "bf16", inputs=str(paths[0]), more_inputs=(str(paths[1]),), rotate_inputs=True
    )
    ((file,),) = limited_model.rotation.values()
    assert load_reference(file).inputs["x"][0, 0] == -LARGEST["bf16"]
