"""What follows from decisions between floats: where these lie within the tolerance it may differ,
elsewhere it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

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


def reference_of(
    folder: Path,
    nodes: str,
    y: Any,
    x: np.ndarray = X,
    constants: dict[str, np.ndarray] | None = None,
) -> tuple[ExportedModel, Reference]:
    path = folder / "decision.onnx"
    onnx.save(graph(nodes_of(nodes), [tensor("x", [*x.shape])], [y], constants or {}), path)
    np.savez(folder / "in.npz", x=x)
    cache = str(folder / "cache")
    model, _ = export(ExportRequest(str(path), inputs=str(folder / "in.npz"), cache_dir=cache))
    return model, only_reference(model)


def is_right(
    model: ExportedModel, reference: Reference, y: Any, tolerance: float | None = 1e-2
) -> bool:
    outputs = [{"y": np.asarray(y)}]
    return check_outputs(outputs, "fp32", reference, model, tolerance, "ort-cpu").output_ok


HALF = {"half": np.array(0.5, np.float32)}
STEP = {"s": np.array(1.0, np.float32), "z": np.array(0, np.int8)}


@pytest.mark.parametrize(
    ("nodes", "kind", "constants", "near", "far"),
    [
        ("y = Round(x)", TensorProto.FLOAT, {}, (0, 1), (0, 0)),
        ("h = Add(x, half) y = Cast <to = 6> (h)", TensorProto.INT32, HALF, (0, 1), (0, 3)),
        ("y = QuantizeLinear(x, s, z)", TensorProto.INT8, STEP, (1, 2), (1, 1)),
        (
            "m = Greater(x, limit) n = Not(m) y = Cast <to = 7> (n)",
            TensorProto.INT64,
            {"limit": np.array(4.5, np.float32)},
            (0, 1),
            (1, 0),
        ),
    ],
)
def test_an_element_may_change_where_its_float_is_near_to_another_result(
    tmp_path: Path,
    nodes: str,
    kind: int,
    constants: dict[str, np.ndarray],
    near: tuple[int, int],
    far: tuple[int, int],
) -> None:
    model, reference = reference_of(tmp_path, nodes, tensor("y", [2, 4], kind), X, constants)
    right = reference.outputs["y"]

    def other(place: tuple[int, int]) -> np.ndarray:
        changed = right.copy()
        changed[place] = 1 - right[place] if {*np.unique(right)} <= {0, 1} else right[place] - 1
        return changed

    assert is_right(model, reference, other(near), 1e-2)
    assert not is_right(model, reference, other(far), 1e-2)
    assert not is_right(model, reference, other(near), 1e-5)


def test_what_depends_on_a_choice_may_change_with_it(tmp_path: Path) -> None:
    """The class's row of a table: classes 1 and 2 are as likely as each other in the first row."""
    x = np.array([[0.1, 0.9, 0.899, 0.2], [5.0, 1.0, 2.0, -3.0]], np.float32)
    table = np.array([[0, 1], [10, 11], [20, 21], [30, 31]], np.int64)
    nodes = "i = ArgMax <axis = 1, keepdims = 0> (x) y = Gather(table, i)"
    y = tensor("y", [2, 2], TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, x, {"table": table})
    assert is_right(model, reference, table[[1, 0]])
    assert is_right(model, reference, table[[2, 0]])
    assert not is_right(model, reference, table[[2, 0]], 1e-5)
    assert not is_right(model, reference, table[[1, 1]])


def test_an_output_whose_shape_may_change_confirms_nothing_where_it_differs(tmp_path: Path) -> None:
    """Boxes above a score: the second lies at the limit."""
    x = np.array([[0.9, 0.5004, 0.1, 0.05]], np.float32)
    y = tensor("y", [2, "n"], TensorProto.INT64)
    model, reference = reference_of(tmp_path, "m = Greater(x, half) y = NonZero(m)", y, x, HALF)
    assert reference.outputs["y"].tolist() == [[0, 0], [0, 1]]
    fewer = {"y": np.array([[0], [0]])}
    check = check_outputs([fewer], "fp16", reference, model, 1e-2, "ort-cpu")
    assert check.output_ok
    assert check.silent == {"y": "unsettled"}
    assert not is_right(model, reference, fewer["y"], 1e-5)


def test_decisions_before_products_excuse_nothing(tmp_path: Path) -> None:
    nodes, weights = "h = Round(x) y = MatMul(h, w)", {"w": np.eye(4, dtype=np.float32)}
    model, reference = reference_of(tmp_path, nodes, tensor("y", [2, 4]), X, weights)
    assert not reference.leeway.unsettled
    off = reference.outputs["y"] + np.eye(2, 4, 1, np.float32)
    assert not is_right(model, reference, off)


def test_rows_of_a_large_batch_may_change_as_those_that_they_repeat(tmp_path: Path) -> None:
    model, reference = reference_of(tmp_path, "y = Round(x)", tensor("y", [2, 4]))
    small, large = str(tmp_path / "small.npz"), str(tmp_path / "large.npz")
    save_reference(small, reference)
    repeat_reference(small, large, {"input:x": 0, "output:y": 0}, 5)
    repeated = load_reference(large)
    for place, expected in (((4, 1), True), ((2, 1), True), ((3, 1), False), ((4, 0), False)):
        other = repeated.outputs["y"].copy()
        other[place] -= 1
        assert is_right(model, repeated, other) is expected


@pytest.mark.parametrize("large", [300.0, -1.5, np.nan, np.inf, 255.4])
def test_what_a_number_beyond_an_integers_range_becomes_is_never_wrong(
    tmp_path: Path, large: float
) -> None:
    x = np.array([[3.2, large, 7.0]], np.float32)
    y = tensor("y", [1, 3], TensorProto.UINT8)
    model, reference = reference_of(tmp_path, "y = Cast <to = 2> (x)", y, x)
    other = {"y": reference.outputs["y"] - np.array([[0, 9, 0]], np.uint8)}
    is_within = large == 255.4
    for runtime in ("ort-cpu", "openvino-cpu"):
        check = check_outputs([other], "fp32", reference, model, None, runtime)
        assert check.output_ok is not is_within
        assert check.silent == ({} if is_within else {"y": "undefined"})


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


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ("h = Identity(x) y = ArgMax <axis = 1, keepdims = 0> (h)", [2]),
        ("h = Identity(x) i = ArgMax <axis = -1> (h) y = Cast <to = 7> (i)", [2, 1]),
    ],
)
def test_a_flip_between_values_within_the_tolerance_is_permitted(
    tmp_path: Path, nodes: str, shape: list[int]
) -> None:
    y = tensor("y", shape, TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, VALUES)
    assert reference.outputs["y"].ravel().tolist() == [1, 0]
    for flipped, tolerance, expected in (
        ([1, 0], 1e-4, True),
        ([1, 2], 1e-2, True),
        ([2, 2], 1e-2, True),
        ([1, 2], 1e-4, False),
        ([1, 3], 1e-2, False),
        ([1, 9], 1e-2, False),
        ([-1, 0], 1e-2, False),
    ):
        changed = np.array(flipped).reshape(shape)
        assert is_right(model, reference, changed, tolerance) is expected, (flipped, tolerance)


def test_each_of_several_indices_may_be_another_of_as_large_a_value(tmp_path: Path) -> None:
    nodes, y = "v, y = TopK <axis = 1> (x, k)", tensor("y", [2, 2], TensorProto.INT64)
    model, reference = reference_of(tmp_path, nodes, y, VALUES, {"k": np.array([2])})
    assert reference.outputs["y"].tolist() == [[1, 2], [0, 2]]
    assert is_right(model, reference, [[2, 1], [2, 0]])
    assert not is_right(model, reference, [[2, 3], [2, 0]])
