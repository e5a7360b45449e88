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
from tests.exporters.support import graph, model_of, nodes_of, only_reference, tensor

LOWEST = np.finfo(np.float32).min
MASK = np.array([[0, LOWEST, 0], [LOWEST, LOWEST, LOWEST]], np.float32)
SCORES = np.array([[1, 2, 3], [1, 2, 3]], np.float32)
FORMS = ("weight", "Constant", "value_floats", "ConstantOfShape", "If", "function", "double")


def attention(form: str) -> ModelProto:
    """Shares of scores under a mask that the graph holds in this form; row 1 is masked whole."""
    values = ", ".join(f"{number:.9e}" for number in MASK.ravel())
    held = f"Constant <value = float[2,3] {{{values}}}> ()"
    masks = {
        "Constant": f"mask = {held}",
        "value_floats": f"""flat = Constant <value_floats = [{values}]> ()
            mask = Reshape(flat, shape)""",
        "ConstantOfShape": f"""full = ConstantOfShape <value = float[1] {{{LOWEST:.9g}}}> (shape)
            mask = Where(seen, zero, full)""",
        "If": f"""mask = If (yes) <then_branch = a () => (float[2,3] t) {{ t = {held} }},
            else_branch = b () => (float[2,3] e) {{ e = {held} }}>""",
        "function": "mask = own.Mask()",
        "double": "mask = Cast <to = 1> (wide)",
    }
    weights = {"seen": MASK == 0, "shape": np.array([2, 3]), "zero": np.array(0, np.float32)}
    weights |= {"yes": np.array(True), "wide": MASK.astype(np.float64)}
    if form == "weight":
        weights["mask"] = MASK
    nodes = f"{masks.get(form, '')} scores = Add(x, mask) y = Softmax <axis = -1> (scores)"
    ends = [tensor("x", [2, 3])], [tensor("y", [2, 3])]
    proto = graph(nodes_of(nodes), *ends, weights, vendor="own" if form == "function" else "")
    if form == "function":
        opsets, body = [helper.make_opsetid("", 17)], nodes_of(f"mask = {held}")
        proto.functions.append(helper.make_function("own", "Mask", [], ["mask"], body, opsets))
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
    if dtype is np.float16:
        fed = cast_inputs({"x": array}, [TensorSpec("x", "float16", (8,))])["x"]
        assert fed.dtype == np.float16 and np.array_equal(fed, cast, equal_nan=True)


def test_sparse_constants_are_limited() -> None:
    proto = graph([], [], [])
    values = numpy_helper.from_array(np.array([LOWEST, 2], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 3]))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    limit_constants(proto, ml_dtypes.bfloat16)
    limited_values = numpy_helper.to_array(proto.graph.sparse_initializer[0].values)
    assert limited_values.tolist() == [-largest_of(ml_dtypes.bfloat16), 2]


def test_weights_below_the_scales_of_fp8_become_zero(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    weights = {"w": np.array([[1, 1e-44], [2, 0]], np.float32)}
    onnx.save(model_of("(float[1,2] x) => (float[1,2] y) { y = MatMul(x, w) }", weights), path)
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
    text = "(float[batch,4] x) => (float[batch,4] y) { y = Mul(x, w) }"
    onnx.save(model_of(text, {"w": np.array([0.5], np.float32)}), path)
    return path


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
