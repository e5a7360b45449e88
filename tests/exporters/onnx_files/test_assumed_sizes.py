"""Sizes of open axes that nobody set: what the graph implies, else what is usual."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from exporters.onnx_files.outline import read_skeleton
from tests.exporters.support import graph, model_of, nodes_of, runs, sized, tensor
from tests.files.language import open_head

INT64 = TensorProto.INT64


def weight(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


RECURRENT = {"w": weight(1, 9, 7), "r": weight(1, 9, 3)}
Sizes = dict[str, int]
USUAL: dict[str, tuple[str, Sizes]] = {
    "a sequence of ids": ("int64[batch,sequence]", {"batch": 1, "sequence": 128}),
    "ids without names": ("int64[?,?]", {"x_0": 1, "x_1": 128}),
    "a picture": ("float[b,3,h,w]", {"b": 1, "h": 224, "w": 224}),
    "a picture with its channels last": ("float[?,?,?,3]", {"x_0": 1, "x_1": 224, "x_2": 224}),
    "a cache": ("float[b,12,past,64]", {"b": 1, "past": 128}),
    "a cache without names": ("float[?,12,?,64]", {"x_0": 1, "x_2": 128}),
    "frames": ("float[b,frames,80]", {"b": 1, "frames": 128}),
    "features": ("float[batch,features]", {"batch": 1}),
    "points in a picture": ("float[1,num_points,2]", {"num_points": 2}),
    "points in space": ("float[1,3,num_points]", {"num_points": 128}),
    **{
        name: (f"float[{name},8]", {name: size})
        for size, names in (
            (128, ("num_tokens", "numTokens", "seqlen", "T", "timesteps", "max_len")),
            (1, ("lifetime", "sentiments", "talent", "inside")),
            (224, ("img_height", "imageWidth")),
        )
        for name in names
    },
}
IMPLIED: dict[str, tuple[str, dict[str, np.ndarray], Sizes]] = {
    "channels": ("(float[1,c,32,32] x) { y = Conv(x, w) }", {"w": weight(8, 3, 3, 3)}, {"c": 3}),
    "rows of a product": (
        "(float[batch,k] x) { y = MatMul(x, w) }",
        {"w": weight(40, 5)},
        {"batch": 1, "k": 40},
    ),
    "columns of a product": (
        "(float[k,m] x) { y = MatMul(w, x) }",
        {"w": weight(5, 40)},
        {"k": 40},
    ),
    "rows of a Gemm": ("(float[1,k] x) { y = Gemm(x, w) }", {"w": weight(40, 5)}, {"k": 40}),
    "steps of a recurrence": (
        "(float[seq,1,k] x) { y = GRU <hidden_size = 3> (x, w, r) }",
        RECURRENT,
        {"seq": 128, "k": 7},
    ),
    "what is added": (
        "(float[batch,seq,8] x) { y = Add(x, w) }",
        {"w": weight(1, 64, 8)},
        {"batch": 1, "seq": 64},
    ),
    "a target's size": (
        "(float[batch,k] x) { y = Reshape(x, w) }",
        {"w": integers(1, 4, 16)},
        {"batch": 1, "k": 64},
    ),
    "a target's batch": (
        "(float[batch,32] x) { y = Reshape(x, w) }",
        {"w": integers(4, 16)},
        {"batch": 2},
    ),
    "a target's sequence": (
        "(float[1,seq,8] x) { y = Reshape(x, w) }",
        {"w": integers(0, 10, -1, 8)},
        {"seq": 10},
    ),
    "a number for each row is no sequence": (
        "(float[batch,4,h,w] x, float[steps] timestep) { z = Relu(timestep) y = Relu(x) }",
        {},
        {"batch": 1, "h": 224, "w": 224, "steps": 1},
    ),
    "states of a recurrence are by batch": (
        "(float[1,?,7] x, float[1,?,3] h) { , y = GRU <hidden_size = 3> (x, w, r, , , h) }",
        RECURRENT,
        {"x_1": 1, "h_1": 1},
    ),
    "a recurrence scans its second axis": (
        "(float[?,?,7] x) { y = GRU <hidden_size = 3, layout = 1> (x, w, r) }",
        RECURRENT,
        {"x_0": 1, "x_1": 128},
    ),
    "a mask has the size of what it masks": (
        "(float[batch,2,seq,seq] scores, float[?,1,?,?] mask) { y = Add(scores, mask) }",
        {},
        {"batch": 1, "seq": 128, "mask_0": 1, "mask_2": 128, "mask_3": 128},
    ),
}


@pytest.mark.parametrize("name", USUAL)
def test_an_axis_has_the_usual_size_of_what_it_counts(tmp_path: Path, name: str) -> None:
    x, sizes = USUAL[name]
    assert sized(tmp_path, model_of(f"({x} x) => (float[] y) {{ y = Relu(x) }}")).assumed == sizes


@pytest.mark.parametrize("name", IMPLIED)
def test_an_axis_has_the_size_that_the_graph_implies(tmp_path: Path, name: str) -> None:
    text, weights, sizes = IMPLIED[name]
    model = model_of(text.replace(") {", ") => (float[] y) {", 1), weights)
    assert sized(tmp_path, model).assumed == sizes


STATE = """steps = Transpose <perm = [2, 0, 1]> (bands)
    , y = GRU <hidden_size = 3> (steps, v, r, , , h)"""


@pytest.mark.parametrize(
    ("state", "nodes", "length"),
    [("", "y = Identity(bands)", 16_000), (", float[1,batch,3] h", STATE, 512)],
)
def test_a_waveform_lasts_a_second_and_a_chunk_of_a_stream_less(
    tmp_path: Path, state: str, nodes: str, length: int
) -> None:
    text = f"""(float[batch,length] x{state}) => (float[] y) {{
        signal = Unsqueeze(x, axes) bands = Conv <strides = [5]> (signal, w) {nodes} }}"""
    weights = {"axes": integers(1), "w": weight(7, 1, 10), "v": weight(1, 9, 7)}
    model = model_of(text, {**weights, "r": weight(1, 9, 3)})
    assert sized(tmp_path, model).assumed == {"batch": 1, "length": length}


def test_the_weights_that_imply_a_size_may_be_large(tmp_path: Path) -> None:
    """Their values are skipped, their shape is not."""
    text = "(float[batch,k] x) => (float[] y) { y = MatMul(x, w) }"
    model = model_of(text, {"w": weight(300, 200)})
    assert sized(tmp_path, model).assumed["k"] == 300
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
    sizes = sized(tmp_path, graph(nodes, inputs, outputs))
    assert sizes.sums == {total: ("past_sequence", "sequence")}
    assert sizes.assumed == {"batch": 1, "sequence": 128, "past_sequence": 128, total: 256}


def test_the_head_size_of_a_cache_follows_from_its_attention(tmp_path: Path) -> None:
    sizes = sized(tmp_path, open_head())
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
    sizes = sized(tmp_path, model)
    assert sizes.assumed["past_sliding_length"] == 48
    assert set(sizes.sums["total_sequence_length"]) == {"past_sequence_length", "sequence_length"}


def test_what_is_joined_has_the_sizes_of_what_it_is_joined_to(tmp_path: Path) -> None:
    """As the builder of onnxruntime-genai joins a cache of an open head size to new keys, of which
    the file alone declares the shape: ONNX does not define the operator that makes them."""
    past_key = tensor("past_key", ["batch", 2, "past_sequence_length", "kv_cache_dim"])
    x = tensor("x", ["batch", "sequence_length", 32])
    nodes = nodes_of("""
        new_key = a.vendor.Split2Heads(x) y = Concat <axis = -2> (past_key, new_key)
    """)
    model = graph(nodes, [past_key, x], [tensor("y", None)], vendor="a.vendor")
    model.graph.value_info.append(tensor("new_key", ["batch", 2, "sequence_length", 16]))
    expected = {"batch": 1, "past_sequence_length": 127, "kv_cache_dim": 16, "sequence_length": 1}
    assert sized(tmp_path, model).assumed == expected


@pytest.mark.parametrize("element", ["float", "string"])
@pytest.mark.parametrize(
    "names",
    [
        ("age", "lifetime_value"),
        ("sentiment", "port", "column"),
        ("image_width", "text", "n_steps"),
    ],
)
def test_columns_of_a_table_have_one_row(
    tmp_path: Path, names: Sequence[str], element: str
) -> None:
    """As converters of tables write a pipeline."""
    inputs = ", ".join(f"{element}[?,1] {name}" for name in names)
    nodes = f"table = Concat <axis = 1> ({', '.join(names)}) y = Identity(table)"
    found = sized(tmp_path, model_of(f"({inputs}) => ({element}[] y) {{ {nodes} }}"))
    assert found.assumed == {f"{name}_0": 1 for name in names}
    first, *others = found.axes
    assert found.sums == dict.fromkeys(others, (first,))
    assert found.batch == first


def test_what_a_loop_scans_is_a_sequence(tmp_path: Path) -> None:
    text = """(float[8] first, float[?,8] x) => (float[8] last, float[] y) {
        last, y = Scan <num_scan_inputs = 1, body = body (float[8] state, float[8] row)
            => (float[8] next, float[8] out) { next = Add(state, row) out = Identity(next) }
        > (first, x)
    }"""
    found = sized(tmp_path, model_of(text))
    assert found.assumed == {"x_0": 128}
    runs(tmp_path, found)


@pytest.mark.parametrize(("nodes", "edges"), [("nodes", "edges"), ("?", "?"), ("N_v", "N_e")])
def test_a_graph_network_has_nodes_and_edges(tmp_path: Path, nodes: str, edges: str) -> None:
    """Messages along edges, weighted by an attribute of the edge, summed where the edge ends."""
    text = f"""(float[{nodes},8] x, int64[2,{edges}] edge_index, float[{edges},8] edge_attr)
    => (float[] y) {{
        source = Gather <axis = 0> (edge_index, zero)
        target = Gather <axis = 0> (edge_index, one) sent = Gather <axis = 0> (x, source)
        messages = Mul(sent, edge_attr) places = Unsqueeze(target, last)
        y = ScatterND <reduction = "add"> (x, places, messages)
    }}"""
    weights = {"zero": np.array(0), "one": np.array(1), "last": np.array([1])}
    found = sized(tmp_path, model_of(text, weights))
    shapes = [spec.shape_at(found.assumed) for spec in found.inputs]
    assert shapes[0][0] >= 16
    assert shapes[1][1] == shapes[2][0] == 128
    runs(tmp_path, found)
