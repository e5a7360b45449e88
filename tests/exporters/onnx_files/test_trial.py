"""Sizes that do not fit as they are: what fails says what it takes, or other sizes are tried."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from exporters.agreement import Bound
from exporters.inputs import seeded_inputs
from exporters.messages import Outline, OutlineRequest
from exporters.onnx_files.evaluator import FileEvaluator
from exporters.onnx_files.input_roles import meant
from exporters.onnx_files.model_io import inspect
from exporters.onnx_files.outline import outline
from exporters.onnx_files.trial import SEARCH_S
from exporters.types import NoReference
from tests.exporters.support import graph, tensor

INT64 = TensorProto.INT64
node = helper.make_node


def sized(folder: Path, model: ModelProto) -> Outline:
    onnx.save(model, folder / "model.onnx")
    return outline(OutlineRequest(str(folder / "model.onnx")))


def runs(folder: Path, found: Outline) -> None:
    """The engine itself takes the sizes."""
    model = onnx.load(folder / "model.onnx")
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    session.run(None, seeded_inputs(meant(found.inputs, model), found.assumed, 0))


def axis_of(source: str, place: int) -> list[NodeProto]:
    """One dimension of a tensor as a vector, as torch writes it."""
    return [
        node("Shape", [source], [f"{source}.shape{place}"]),
        node("Gather", [f"{source}.shape{place}", f"n{place}"], [f"{source}.{place}"]),
    ]


NUMBERS = {f"n{place}": np.array([place]) for place in range(3)}


@pytest.mark.parametrize("length", [64, 50, 300])
@pytest.mark.parametrize("is_hidden", [False, True])
def test_heads_of_one_length_imply_it(tmp_path: Path, length: int, is_hidden: bool) -> None:
    """Attention traced at one length, whose batch follows the input. Where a node that inference
    does not know stands before it, only a run can tell."""
    nodes = [
        *axis_of("x", 0),
        node("Mul", ["x.0", "four"], ["heads"]),
        node("Concat", ["length", "heads", "width"], ["target"], axis=0),
        node("Transpose", ["x"], ["first"], perm=[1, 0, 2]),
        node("Reshape", ["first", "target"], ["split"]),
        node("Softmax", ["split"], ["y"]),
    ]
    weights = {
        **NUMBERS,
        "four": np.array([4]),
        "length": np.array([length]),
        "width": np.array([12]),
    }
    if is_hidden:
        nodes[4:4] = [
            node("NonZero", ["ones"], ["places"]),
            node("Reshape", ["places", "n1_flat"], ["flat"]),
            node("Gather", ["x", "flat"], ["same"], axis=2),
        ]
        nodes[7] = node("Transpose", ["same"], ["first"], perm=[1, 0, 2])
        weights |= {"ones": np.ones(48, np.float32), "n1_flat": np.array([-1])}
    model = graph(nodes, [tensor("x", ["batch", "sequence", 48])], [tensor("y", None)], weights)
    found = sized(tmp_path, model)
    assert found.assumed == {"batch": 1, "sequence": length}
    runs(tmp_path, found)


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("rows", [38, 514])
def test_a_table_of_positions_bounds_the_sequence(tmp_path: Path, rows: int, offset: int) -> None:
    """Positions that the graph counts itself, from an offset on."""
    nodes = [
        node("Gather", ["words", "ids"], ["e"]),
        node("ConstantOfShape", ["ids_shape"], ["ones"], value=one()),
        node("CumSum", ["ones", "last"], ["counted"]),
        node("Add", ["counted", "start"], ["positions"]),
        node("Gather", ["table", "positions"], ["p"]),
        node("Add", ["e", "p"], ["y"]),
    ]
    nodes.insert(0, node("Shape", ["ids"], ["ids_shape"]))
    weights = {
        "words": np.zeros((40, 8), np.float32),
        "table": np.zeros((rows, 8), np.float32),
        "last": np.array(1),
        "start": np.array(offset - 1),
    }
    inputs = [tensor("ids", ["batch", "sequence"], INT64)]
    found = sized(tmp_path, graph(nodes, inputs, [tensor("y", None)], weights))
    assert 16 <= found.assumed["sequence"] <= min(128, rows - offset)
    runs(tmp_path, found)


def one() -> TensorProto:
    return helper.make_tensor("one", INT64, [1], [1])


def test_a_sliced_table_bounds_what_is_added_to_it(tmp_path: Path) -> None:
    nodes = [
        *axis_of("x", 1),
        node("Slice", ["table", "n0", "x.1", "n1"], ["positions"]),
        node("Add", ["x", "positions"], ["y"]),
    ]
    weights = {**NUMBERS, "table": np.zeros((1, 38, 8), np.float32)}
    model = graph(nodes, [tensor("x", ["batch", "tokens", 8])], [tensor("y", None)], weights)
    found = sized(tmp_path, model)
    assert 16 <= found.assumed["tokens"] <= 38
    runs(tmp_path, found)


def test_an_image_has_the_sides_that_its_patches_need(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["patches"], strides=[16, 16]),
        *axis_of("patches", 0),
        node("Concat", ["patches.0", "rest"], ["target"], axis=0),
        node("Reshape", ["patches", "target"], ["y"]),
    ]
    weights = {
        **NUMBERS,
        "w": np.zeros((8, 3, 16, 16), np.float32),
        "rest": np.array([8, 24 * 24]),
    }
    model = graph(nodes, [tensor("x", ["n", 3, "h", "w_"])], [tensor("y", None)], weights)
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "width"
    found = sized(tmp_path, model)
    assert found.assumed == {"n": 1, "h": 384, "width": 384}
    runs(tmp_path, found)


def test_results_that_would_be_too_large_halve_the_sizes(tmp_path: Path) -> None:
    target: Sequence[int] = (64, 1, 4, 1, 8)
    nodes = [
        node("Reshape", ["x", "wide"], ["columns"]),
        node("Expand", ["columns", "many"], ["y"]),
    ]
    weights = {"wide": np.array([1, 1, -1, 1, 8]), "many": np.array([64, 1, 1, 64, 8])}
    model = graph(nodes, [tensor("x", ["b", "h", "w", 8])], [tensor("y", None)], weights)
    found = sized(tmp_path, model)
    side = found.assumed["h"]
    assert found.assumed == {"b": 1, "h": side, "w": side}
    assert side < 224
    assert prod(target) // 4 * side * side * 64 * 4 <= 256 << 20
    runs(tmp_path, found)


def test_a_file_that_no_size_helps_keeps_the_usual_ones(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", ["x"], ["places"]),
        node("Gather", ["table", "ten"], ["p"]),
        node("Add", ["places", "p"], ["y"]),
    ]
    weights = {"table": np.zeros(3, np.int64), "ten": np.array([10])}
    model = graph(nodes, [tensor("x", ["batch", "seq"])], [tensor("y", None, INT64)], weights)
    found = sized(tmp_path, model)
    assert found.assumed == {"batch": 1, "seq": 128}


def test_a_run_that_lasts_is_ended(tmp_path: Path) -> None:
    """Nodes without end: the search gives up within its time, and the usual sizes stay."""
    import time

    body = helper.make_graph(
        [node("Add", ["state", "step"], ["next"]), node("Identity", ["going"], ["still"])],
        "body",
        [tensor("i", [], INT64), tensor("going", [], TensorProto.BOOL), tensor("state", None)],
        [tensor("still", [], TensorProto.BOOL), tensor("next", None)],
    )
    nodes = [node("Loop", ["", "true", "x"], ["y"], body=body)]
    weights = {"true": np.array(True), "step": np.array(1, np.float32)}
    model = graph(nodes, [tensor("x", ["batch", "seq", 8])], [tensor("y", None)], weights)
    begin = time.monotonic()
    assert sized(tmp_path, model).assumed == {"batch": 1, "seq": 128}
    assert time.monotonic() - begin < 4 * SEARCH_S


def test_a_size_that_does_not_fit_is_refused_with_one_that_does(tmp_path: Path) -> None:
    """Of a length that the user gave."""
    nodes = [node("Reshape", ["x", "target"], ["y"])]
    x, y = tensor("x", ["sequence", 1, 192]), tensor("y", [64, 4, 48])
    model = graph(nodes, [x], [y], {"target": np.array([64, 4, 48])})
    found = sized(tmp_path, model)
    assert found.assumed == {"sequence": 64}
    path = tmp_path / "model.onnx"
    (output,) = inspect(path).outputs
    evaluator = FileEvaluator("model.onnx", path, [output], found.inputs)
    inputs = {"x": np.zeros((128, 1, 192), np.float32)}
    with pytest.raises(NoReference) as refusal:
        evaluator.computed(inputs, {"sequence": 128}, Bound(1e-5))
    assert "--axis sequence=64" in refusal.value.remedy
