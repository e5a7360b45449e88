"""Sizes of open axes that nobody set: what the graph implies, else what is usual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from exporters.messages import Outline, OutlineRequest
from exporters.onnx_files.outline import outline, read_skeleton
from tests.exporters.support import graph, tensor
from tests.files.language import open_head

INT64 = TensorProto.INT64


def sizes_of(path: Path, model: ModelProto) -> Outline:
    onnx.save(model, path / "model.onnx")
    return outline(OutlineRequest(str(path / "model.onnx")))


def one_node(node: NodeProto, x: ValueInfoProto, **weights: np.ndarray) -> ModelProto:
    return graph([node], [x], [tensor(node.output[0], None)], weights)


def weight(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


RELU = helper.make_node("Relu", ["x"], ["y"])


@pytest.mark.parametrize(
    ("shape", "element", "sizes"),
    [
        (["batch", "sequence"], INT64, {"batch": 1, "sequence": 128}),
        (["N", "num_tokens"], INT64, {"N": 1, "num_tokens": 128}),
        ([None, None], INT64, {"x_0": 1, "x_1": 128}),
        (["b", 3, "h", "w"], TensorProto.FLOAT, {"b": 1, "h": 224, "w": 224}),
        ([None, 3, None, None], TensorProto.FLOAT, {"x_0": 1, "x_2": 224, "x_3": 224}),
        ([None, None, None, 3], TensorProto.FLOAT, {"x_0": 1, "x_1": 224, "x_2": 224}),
        (["b", 12, "past", 64], TensorProto.FLOAT, {"b": 1, "past": 128}),
        ([None, 12, None, 64], TensorProto.FLOAT, {"x_0": 1, "x_2": 128}),
        (["b", "frames", 80], TensorProto.FLOAT, {"b": 1, "frames": 128}),
        (["batch", "features"], TensorProto.FLOAT, {"batch": 1}),
    ],
)
def test_an_axis_has_the_usual_size_of_what_it_counts(
    tmp_path: Path, shape: list[int | str | None], element: int, sizes: dict[str, int]
) -> None:
    assert sizes_of(tmp_path, one_node(RELU, tensor("x", shape, element))).assumed == sizes


@pytest.mark.parametrize(
    ("operator", "inputs", "shape", "weights", "sizes"),
    [
        ("Conv", "x w", [1, "c", 32, 32], {"w": weight(8, 3, 3, 3)}, {"c": 3}),
        ("MatMul", "x w", ["batch", "k"], {"w": weight(40, 5)}, {"batch": 1, "k": 40}),
        ("MatMul", "w x", ["k", "m"], {"w": weight(5, 40)}, {"k": 40}),
        ("Gemm", "x w", [1, "k"], {"w": weight(40, 5)}, {"k": 40}),
        ("GRU", "x w r", ["seq", 1, "k"], {"w": weight(1, 9, 7), "r": weight(1, 9, 3)},
         {"seq": 128, "k": 7}),
        ("Add", "x w", ["batch", "seq", 8], {"w": weight(1, 64, 8)}, {"batch": 1, "seq": 64}),
        ("Reshape", "x w", ["batch", "k"], {"w": integers(1, 4, 16)}, {"batch": 1, "k": 64}),
        ("Reshape", "x w", ["batch", 32], {"w": integers(4, 16)}, {"batch": 2}),
        ("Reshape", "x w", [1, "seq", 8], {"w": integers(0, 10, -1, 8)}, {"seq": 10}),
    ],
)  # fmt: skip
def test_an_axis_has_the_size_that_the_graph_implies(
    tmp_path: Path,
    operator: str,
    inputs: str,
    shape: list[int | str],
    weights: dict[str, np.ndarray],
    sizes: dict[str, int],
) -> None:
    node = helper.make_node(operator, inputs.split(), ["y"])
    if operator == "GRU":
        node.attribute.append(helper.make_attribute("hidden_size", 3))
    inferred_sizes = sizes_of(tmp_path, one_node(node, tensor("x", shape), **weights))
    assert inferred_sizes.assumed == sizes


@pytest.mark.parametrize(("has_state", "length"), [(False, 16_000), (True, 512)])
def test_a_waveform_lasts_a_second_and_a_chunk_of_a_stream_less(
    tmp_path: Path, has_state: bool, length: int
) -> None:
    inputs = [tensor("x", ["batch", "length"])]
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axes"], ["signal"]),
        helper.make_node("Conv", ["signal", "w"], ["bands"], strides=[5]),
    ]
    weights = {"axes": integers(1), "w": weight(7, 1, 10)}
    if has_state:
        inputs.append(tensor("h", [1, "batch", 3]))
        weights |= {"v": weight(1, 9, 7), "r": weight(1, 9, 3)}
        nodes += [
            helper.make_node("Transpose", ["bands"], ["steps"], perm=[2, 0, 1]),
            helper.make_node("GRU", ["steps", "v", "r", "", "", "h"], ["", "y"], hidden_size=3),
        ]
    output = tensor("y" if has_state else "bands", None)
    sizes = sizes_of(tmp_path, graph(nodes, inputs, [output], weights))
    assert sizes.assumed == {"batch": 1, "length": length}


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ([1, "num_points", 2], {"num_points": 2}),
        ([1, 3, "num_points"], {"num_points": 128}),
    ],
)
def test_points_in_a_picture_are_few(
    tmp_path: Path, shape: list[int | str], sizes: dict[str, int]
) -> None:
    assert sizes_of(tmp_path, one_node(RELU, tensor("x", shape))).assumed == sizes


def test_a_number_for_each_row_is_no_sequence(tmp_path: Path) -> None:
    inputs = [tensor("x", ["batch", 4, "h", "w"]), tensor("timestep", ["steps"])]
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Relu", ["timestep"], ["z"]),
    ]
    model = graph(nodes, inputs, [tensor("y", None), tensor("z", None)])
    assert sizes_of(tmp_path, model).assumed["steps"] == 1


def test_the_states_of_a_recurrence_are_by_batch(tmp_path: Path) -> None:
    node = helper.make_node("GRU", ["x", "w", "r", "", "", "h"], ["", "y"], hidden_size=3)
    inputs = [tensor("x", [1, None, 7]), tensor("h", [1, None, 3])]
    weights = {"w": weight(1, 9, 7), "r": weight(1, 9, 3)}
    sizes = sizes_of(tmp_path, graph([node], inputs, [tensor("y", None)], weights))
    assert set(sizes.assumed.values()) == {1}


def test_the_weights_that_imply_a_size_may_be_large(tmp_path: Path) -> None:
    """Their values are skipped, their shape is not."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = one_node(node, tensor("x", ["batch", "k"]), w=weight(300, 200))
    assert sizes_of(tmp_path, model).assumed["k"] == 300
    skeleton = read_skeleton(tmp_path / "model.onnx")
    assert skeleton.ByteSize() < 1000
    assert list(skeleton.graph.initializer[0].dims) == [300, 200]
    assert skeleton.graph.initializer[0].name == "w"
    assert skeleton.graph.initializer[0].data_type == TensorProto.FLOAT


@pytest.mark.parametrize("total", ["total_sequence", "past_sequence + sequence"])
def test_a_total_follows_from_its_parts(tmp_path: Path, total: str) -> None:
    inputs = [
        tensor("ids", ["batch", "sequence"], INT64),
        tensor("mask", ["batch", total], INT64),
        tensor("past", ["batch", 2, "past_sequence", 4]),
    ]
    nodes = [helper.make_node("Identity", [value.name], [f"{value.name}_y"]) for value in inputs]
    outputs = [tensor(f"{value.name}_y", None) for value in inputs]
    outputs[0].type.tensor_type.elem_type = outputs[1].type.tensor_type.elem_type = INT64
    sizes = sizes_of(tmp_path, graph(nodes, inputs, outputs))
    assert sizes.sums == {total: ("past_sequence", "sequence")}
    assert sizes.assumed == {"batch": 1, "sequence": 128, "past_sequence": 128, total: 256}


def test_the_head_size_of_a_cache_follows_from_its_attention(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path, open_head())
    assert sizes.assumed["kv_cache_dim"] == 16
    past_length, current = sizes.assumed["past_sequence_length"], sizes.assumed["sequence_length"]
    assert sizes.assumed["total_sequence_length"] == past_length + current


def test_a_sliding_cache_has_the_size_of_its_window(tmp_path: Path) -> None:
    model = open_head()
    for end in model.graph.input:
        if end.name.startswith("past_key_values.0"):
            end.type.tensor_type.shape.dim[2].dim_param = "past_sliding_length"
    attention = next(node for node in model.graph.node if node.op_type == "GroupQueryAttention")
    attention.attribute.append(helper.make_attribute("sliding_window_cache", 1))
    attention.attribute.append(helper.make_attribute("local_window_size", 48))
    sizes = sizes_of(tmp_path, model)
    assert sizes.assumed["past_sliding_length"] == 48
    assert set(sizes.sums["total_sequence_length"]) == {"past_sequence_length", "sequence_length"}


def test_what_is_joined_has_the_sizes_of_what_it_is_joined_to(tmp_path: Path) -> None:
    """As the builder of onnxruntime-genai joins a cache of an open head size to new keys, of which
    the file alone declares the shape: ONNX does not define the operator that makes them."""
    past_key = tensor("past_key", ["batch", 2, "past_sequence_length", "kv_cache_dim"])
    x = tensor("x", ["batch", "sequence_length", 32])
    nodes = [
        helper.make_node("Split2Heads", ["x"], ["new_key"], domain="a.vendor"),
        helper.make_node("Concat", ["past_key", "new_key"], ["y"], axis=-2),
    ]
    model = graph(nodes, [past_key, x], [tensor("y", None)], vendor="a.vendor")
    model.graph.value_info.append(tensor("new_key", ["batch", 2, "sequence_length", 16]))
    expected = {"batch": 1, "past_sequence_length": 127, "kv_cache_dim": 16, "sequence_length": 1}
    assert sizes_of(tmp_path, model).assumed == expected
