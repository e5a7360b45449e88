"""Sizes that nobody set, of graphs whose inputs have no names for them or names that mislead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

from exporters.inputs import seeded_inputs
from exporters.messages import Outline, OutlineRequest
from exporters.onnx_files.outline import outline
from exporters.types import TEXT
from tests.exporters.support import graph, tensor

INT64, FLOAT, STRING = TensorProto.INT64, TensorProto.FLOAT, TensorProto.STRING
node = helper.make_node


def sized(folder: Path, model: ModelProto) -> Outline:
    onnx.save(model, folder / "model.onnx")
    return outline(OutlineRequest(str(folder / "model.onnx")))


def runs(folder: Path, found: Outline) -> None:
    """The engine itself takes the sizes."""
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    session.run(None, seeded_inputs(found.inputs, found.assumed, 0))


def columns(names: Sequence[str], element: int = FLOAT) -> ModelProto:
    """A pipeline of columns, as converters of tables write it."""
    return graph(
        [node("Concat", list(names), ["table"], axis=1), node("Identity", ["table"], ["y"])],
        [tensor(name, [None, 1], element) for name in names],
        [tensor("y", None, element)],
    )


@pytest.mark.parametrize("element", [FLOAT, STRING])
@pytest.mark.parametrize(
    "names",
    [
        ("age", "lifetime_value"),
        ("sentiment", "port", "column"),
        ("image_width", "text", "n_steps"),
    ],
)
def test_columns_of_a_table_have_one_row(
    tmp_path: Path, names: Sequence[str], element: int
) -> None:
    found = sized(tmp_path, columns(names, element))
    assert found.assumed == {f"{name}_0": 1 for name in names}
    first, *others = found.axes
    assert found.sums == dict.fromkeys(others, (first,))
    assert found.batch == first


def test_texts_are_one(tmp_path: Path) -> None:
    model = graph(
        [node("Identity", ["text"], ["y"])],
        [tensor("text", [None], STRING)],
        [tensor("y", None, STRING)],
    )
    found = sized(tmp_path, model)
    assert found.inputs[0].dtype == TEXT
    assert found.assumed == {"text_0": 1}


@pytest.mark.parametrize(
    ("axis", "size"),
    [("num_tokens", 128), ("numTokens", 128), ("seqlen", 128), ("T", 128), ("timesteps", 128),
     ("max_len", 128), ("lifetime", 1), ("sentiments", 1), ("talent", 1), ("img_height", 224),
     ("inside", 1), ("imageWidth", 224)],
)  # fmt: skip
def test_a_name_counts_by_its_words(tmp_path: Path, axis: str, size: int) -> None:
    model = graph([node("Relu", ["x"], ["y"])], [tensor("x", [axis, 8])], [tensor("y", None)])
    assert sized(tmp_path, model).assumed == {axis: size}


@pytest.mark.parametrize("layout", [0, 1])
def test_what_a_recurrence_scans_is_a_sequence(tmp_path: Path, layout: int) -> None:
    weights = {"w": np.zeros((1, 9, 8), np.float32), "r": np.zeros((1, 9, 3), np.float32)}
    nodes = [node("GRU", ["x", "w", "r"], ["y"], hidden_size=3, layout=layout)]
    model = graph(nodes, [tensor("x", [None, None, 8])], [tensor("y", None)], weights)
    assert sized(tmp_path, model).assumed == {f"x_{layout}": 128, f"x_{1 - layout}": 1}


def test_what_a_loop_scans_is_a_sequence(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Add", ["state", "row"], ["next"]), node("Identity", ["next"], ["out"])],
        "body",
        [tensor("state", [8]), tensor("row", [8])],
        [tensor("next", [8]), tensor("out", [8])],
    )
    model = graph(
        [node("Scan", ["first", "x"], ["last", "y"], body=body, num_scan_inputs=1)],
        [tensor("first", [8]), tensor("x", [None, 8])],
        [tensor("last", [8]), tensor("y", None)],
    )
    found = sized(tmp_path, model)
    assert found.assumed == {"x_0": 128}
    runs(tmp_path, found)


@pytest.mark.parametrize("names", [("nodes", "edges"), (None, None), ("N_v", "N_e")])
def test_a_graph_network_has_nodes_and_edges(
    tmp_path: Path, names: tuple[str | None, str | None]
) -> None:
    """Messages along edges, weighted by an attribute of the edge, summed where the edge ends."""
    nodes = [
        node("Gather", ["edge_index", "zero"], ["source"], axis=0),
        node("Gather", ["edge_index", "one"], ["target"], axis=0),
        node("Gather", ["x", "source"], ["sent"], axis=0),
        node("Mul", ["sent", "edge_attr"], ["messages"]),
        node("Unsqueeze", ["target", "last"], ["places"]),
        node("ScatterND", ["x", "places", "messages"], ["y"], reduction="add"),
    ]
    weights = {"zero": np.array(0), "one": np.array(1), "last": np.array([1])}
    inputs = [
        tensor("x", [names[0], 8]),
        tensor("edge_index", [2, names[1]], INT64),
        tensor("edge_attr", [names[1], 8]),
    ]
    found = sized(tmp_path, graph(nodes, inputs, [tensor("y", None)], weights, opset=18))
    shapes = [spec.shape_at(found.assumed) for spec in found.inputs]
    assert shapes[0][0] >= 16
    assert shapes[1][1] == shapes[2][0] == 128
    runs(tmp_path, found)


def test_a_mask_without_names_has_the_size_of_what_it_masks(tmp_path: Path) -> None:
    nodes = [node("Add", ["scores", "mask"], ["y"])]
    inputs = [tensor("scores", ["batch", 2, "seq", "seq"]), tensor("mask", [None, 1, None, None])]
    found = sized(tmp_path, graph(nodes, inputs, [tensor("y", None)]))
    assert found.assumed == {"batch": 1, "seq": 128, "mask_0": 1, "mask_2": 128, "mask_3": 128}
