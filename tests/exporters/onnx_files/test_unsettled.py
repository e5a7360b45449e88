"""What follows from decisions between floats: where these lie within the tolerance it may differ,
elsewhere it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from app.workers.output_check import check_outputs
from exporters.messages import ExportRequest
from exporters.types import (
    ExportedModel,
    Reference,
    load_reference,
    repeat_reference,
    save_reference,
)
from exporters.worker import export
from tests.exporters.support import graph, nodes_of, only_reference, tensor

X = np.array([[0.1, 4.501, 0.89, 0.2], [5.0, 1.0, 2.499, -3.0]], np.float32)
node = helper.make_node


def reference_of(
    folder: Path,
    nodes: list[NodeProto],
    y: Any,
    x: np.ndarray = X,
    constants: dict[str, np.ndarray] | None = None,
) -> tuple[ExportedModel, Reference]:
    path = folder / "decision.onnx"
    shape = [*x.shape]
    onnx.save(graph(nodes, [tensor("x", shape)], [y], constants or {}), path)
    np.savez(folder / "in.npz", x=x)
    cache = str(folder / "cache")
    model, _ = export(ExportRequest(str(path), inputs=str(folder / "in.npz"), cache_dir=cache))
    return model, only_reference(model)


HALF = {"half": np.array(0.5, np.float32)}
STEP = {"s": np.array(1.0, np.float32), "z": np.array(0, np.int8)}


@pytest.mark.parametrize(
    ("nodes", "kind", "constants", "near", "far"),
    [
        ([node("Round", ["x"], ["y"])], TensorProto.FLOAT, {}, (0, 1), (0, 0)),
        (
            [node("Add", ["x", "half"], ["h"]), node("Cast", ["h"], ["y"], to=TensorProto.INT32)],
            TensorProto.INT32,
            HALF,
            (0, 1),
            (0, 3),
        ),
        ([node("QuantizeLinear", ["x", "s", "z"], ["y"])], TensorProto.INT8, STEP, (1, 2), (1, 1)),
        (
            nodes_of("m = Greater(x, limit) n = Not(m) y = Cast <to = 7> (n)"),
            TensorProto.INT64,
            {"limit": np.array(4.5, np.float32)},
            (0, 1),
            (1, 0),
        ),
    ],
)
def test_an_element_may_change_where_its_float_is_near_to_another_result(
    tmp_path: Path,
    nodes: list[NodeProto],
    kind: int,
    constants: dict[str, np.ndarray],
    near: tuple[int, int],
    far: tuple[int, int],
) -> None:
    model, reference = reference_of(tmp_path, nodes, tensor("y", [2, 4], kind), X, constants)
    right = reference.outputs["y"]

    def is_right(place: tuple[int, int], tolerance: float) -> bool:
        other = right.copy()
        other[place] = 1 - other[place] if {*np.unique(right)} <= {0, 1} else other[place] - 1
        return check_outputs(
            [{"y": other}], "fp32", reference, model, tolerance, "ort-cpu"
        ).output_ok

    assert is_right(near, 1e-2)
    assert not is_right(far, 1e-2)
    assert not is_right(near, 1e-5)


def test_what_depends_on_a_choice_may_change_with_it(tmp_path: Path) -> None:
    """The class's row of a table: classes 1 and 2 are as likely as each other in the first row."""
    x = np.array([[0.1, 0.9, 0.899, 0.2], [5.0, 1.0, 2.0, -3.0]], np.float32)
    table = np.array([[0, 1], [10, 11], [20, 21], [30, 31]], np.int64)
    nodes = nodes_of("i = ArgMax <axis = 1, keepdims = 0> (x) y = Gather(table, i)")
    y = tensor("y", [2, 2], TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, x, {"table": table})

    def is_right(*classes: int, tolerance: float = 1e-2) -> bool:
        outputs = [{"y": table[[*classes]]}]
        return check_outputs(outputs, "fp16", reference, model, tolerance, "ort-cpu").output_ok

    assert is_right(1, 0)
    assert is_right(2, 0)
    assert not is_right(2, 0, tolerance=1e-5)
    assert not is_right(1, 1)


def test_an_output_whose_shape_may_change_confirms_nothing_where_it_differs(tmp_path: Path) -> None:
    """Boxes above a score: the second lies at the limit."""
    x = np.array([[0.9, 0.5004, 0.1, 0.05]], np.float32)
    nodes = [node("Greater", ["x", "half"], ["m"]), node("NonZero", ["m"], ["y"])]
    y = tensor("y", [2, "n"], TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, x, HALF)
    assert reference.outputs["y"].tolist() == [[0, 0], [0, 1]]
    fewer = {"y": np.array([[0], [0]])}
    check = check_outputs([fewer], "fp16", reference, model, 1e-2, "ort-cpu")
    assert check.output_ok
    assert check.silent == {"y": "unsettled"}
    assert not check_outputs([fewer], "fp32", reference, model, 1e-5, "ort-cpu").output_ok


def test_decisions_before_products_excuse_nothing(tmp_path: Path) -> None:
    nodes = [node("Round", ["x"], ["h"]), node("MatMul", ["h", "w"], ["y"])]
    w = np.eye(4, dtype=np.float32)
    model, reference = reference_of(tmp_path, nodes, tensor("y", [2, 4]), X, {"w": w})
    assert not reference.leeway.unsettled
    off = {"y": reference.outputs["y"] + np.eye(2, 4, 1, np.float32)}
    assert not check_outputs([off], "fp32", reference, model, 1e-2, "ort-cpu").output_ok


def test_rows_of_a_large_batch_may_change_as_those_that_they_repeat(tmp_path: Path) -> None:
    model, reference = reference_of(tmp_path, [node("Round", ["x"], ["y"])], tensor("y", [2, 4]))
    small, large = str(tmp_path / "small.npz"), str(tmp_path / "large.npz")
    save_reference(small, reference)
    repeat_reference(small, large, {"input:x": 0, "output:y": 0}, 5)
    repeated = load_reference(large)
    for place, is_right in (((4, 1), True), ((2, 1), True), ((3, 1), False), ((4, 0), False)):
        other = repeated.outputs["y"].copy()
        other[place] -= 1
        check = check_outputs([{"y": other}], "fp32", repeated, model, 1e-2, "ort-cpu")
        assert check.output_ok is is_right


@pytest.mark.parametrize("large", [300.0, -1.5, np.nan, np.inf])
def test_what_a_number_beyond_an_integers_range_becomes_is_never_wrong(
    tmp_path: Path, large: float
) -> None:
    x = np.array([[3.2, large, 7.0]], np.float32)
    nodes = [node("Cast", ["x"], ["y"], to=TensorProto.UINT8)]
    y = tensor("y", [1, 3], TensorProto.UINT8)
    model, reference = reference_of(tmp_path, nodes, y, x)
    other = {"y": reference.outputs["y"] + np.array([[0, 9, 0]], np.uint8)}
    for runtime in ("ort-cpu", "openvino-cpu"):
        check = check_outputs([other], "fp32", reference, model, None, runtime)
        assert check.output_ok
        assert check.silent == {"y": "undefined"}


def test_numbers_within_an_integers_range_have_one_answer(tmp_path: Path) -> None:
    x = np.array([[3.2, 255.4, 7.0]], np.float32)
    nodes = [node("Cast", ["x"], ["y"], to=TensorProto.UINT8)]
    model, reference = reference_of(tmp_path, nodes, tensor("y", [1, 3], TensorProto.UINT8), x)
    other = {"y": reference.outputs["y"] - np.array([[0, 9, 0]], np.uint8)}
    assert not check_outputs([other], "fp32", reference, model, None, "openvino-cpu").output_ok


def test_an_output_that_inputs_do_not_change_confirms_nothing(tmp_path: Path) -> None:
    """A Relu of what is always negative; beside an output that changes it is a constant."""
    nodes = nodes_of("a = Abs(x) n = Neg(a) y = Relu(n) z = Identity(x)")
    for outputs, silent in ((["y"], {"y": "same"}), (["y", "z"], {})):
        path = tmp_path / f"{len(outputs)}.onnx"
        ends = [tensor(name, [2, 4]) for name in outputs]
        onnx.save(graph(nodes[: 2 + len(outputs)], [tensor("x", [2, 4])], ends, {}), path)
        model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
        reference = only_reference(model)
        check = check_outputs([reference.outputs], "fp32", reference, model, None, "ort-cpu")
        assert check.output_ok
        assert check.silent == silent


VALUES = np.array([[0.1, 0.9, 0.89, 0.2], [5.0, 1.0, 4.99, -3.0]], np.float32)
ARGMAX: dict[str, Any] = {"axis": 1, "keepdims": 0}


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ([helper.make_node("ArgMax", ["h"], ["y"], **ARGMAX)], [2]),
        (
            nodes_of("i = ArgMax <axis = -1> (h) y = Cast <to = 7> (i)"),
            [2, 1],
        ),
    ],
)
def test_a_flip_between_values_within_the_tolerance_is_permitted(
    tmp_path: Path, nodes: list[NodeProto], shape: list[int]
) -> None:
    whole = [helper.make_node("Identity", ["x"], ["h"]), *nodes]
    y = tensor("y", shape, TensorProto.INT64)
    model, reference = reference_of(tmp_path, whole, y, VALUES)
    right = reference.outputs["y"]
    assert right.ravel().tolist() == [1, 0]
    for flipped, tolerance, expected in (
        ([1, 0], 1e-4, True),
        ([1, 2], 1e-2, True),
        ([2, 2], 1e-2, True),
        ([1, 2], 1e-4, False),
        ([1, 3], 1e-2, False),
        ([1, 9], 1e-2, False),
        ([-1, 0], 1e-2, False),
    ):
        outputs = {"y": np.array(flipped).reshape(right.shape)}
        check = check_outputs([outputs], "int8", reference, model, tolerance, "ort-cpu")
        assert check.output_ok is expected, (flipped, tolerance)


def test_each_of_several_indices_may_be_another_of_as_large_a_value(tmp_path: Path) -> None:
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "y"], axis=1)]
    y = tensor("y", [2, 2], TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, VALUES, {"k": np.array([2])})
    assert reference.outputs["y"].tolist() == [[1, 2], [0, 2]]
    swapped = {"y": np.array([[2, 1], [2, 0]])}
    assert check_outputs([swapped], "fp32", reference, model, 1e-2, "ort-cpu").output_ok
    other = {"y": np.array([[2, 3], [2, 0]])}
    assert not check_outputs([other], "fp32", reference, model, 1e-2, "ort-cpu").output_ok
