"""An ONNX file becomes a graph of fixed shapes, or one sentence says why it can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from runtimes.errors import CompileFault, Unsupported
from runtimes.fpga.graph.graph import fuse
from runtimes.fpga.graph.importer import import_model, load
from tests.runtimes.fpga.graphs import FLOAT, ModelBuilder, cnn_step
from tests.runtimes.fpga.ort_sessions import model


def dynamic() -> ModelBuilder:
    """A reshape whose target is computed from the input's own shape."""
    builder = ModelBuilder()
    x = builder.input("x", ["batch", 4, 6])
    shape = builder.add("Shape", x)
    batch = builder.add("Gather", shape, builder.constant(np.array([0])))
    target = builder.add("Concat", batch, builder.constant(np.array([24])), axis=0)
    flat = builder.add("Reshape", x, target)
    builder.output(builder.add("MatMul", flat, builder.weights(24, 8)), ["batch", 8])
    return builder


@pytest.mark.parametrize(
    ("op", "held", "attributes", "opset"),
    [
        ("MeanVarianceNormalization", 0, {}, 13),
        ("GroupNormalization", 2, {"num_groups": 2}, 18),
        ("GroupNormalization", 2, {"num_groups": 2}, 21),
        ("GreaterOrEqual", 1, {}, 12),
    ],
)
def test_shapes_that_onnx_infers_nothing_of_are_those_of_the_inputs(
    op: str, held: int, attributes: dict[str, Any], opset: int
) -> None:
    count = 2 if opset == 18 else 4
    weights = {f"w{i}": np.ones(count if held > 1 else 1, np.float32) for i in range(held)}
    kind = TensorProto.BOOL if op == "GreaterOrEqual" else TensorProto.FLOAT
    node = helper.make_node(op, ["x", *weights], ["y"], "node", **attributes)
    proto = model([node], {"x": [1, 4, 2, 3]}, {"y": None}, weights, opset, {"y": kind})
    assert import_model(proto, {}).values["y"].shape == (1, 4, 2, 3)


UNDEFINED: dict[str, Any] = {
    "kernel_shape": [2, 2],
    "strides": [2, 2],
    "auto_pad": "VALID",
    "ceil_mode": 1,
}
"""Of a pool: ONNX's text and its shape inference disagree, so the evaluator refuses it."""


def test_a_constant_node_that_the_evaluator_cannot_compute_remains_a_node() -> None:
    nodes = [
        helper.make_node("MaxPool", ["w"], ["pooled"], "pool", **UNDEFINED),
        helper.make_node("Add", ["x", "pooled"], ["y"], "add"),
    ]
    weights = {"w": np.ones((1, 2, 3, 3), np.float32)}
    graph = import_model(model(nodes, {"x": [1, 2, 1, 1]}, {"y": None}, weights), {})
    assert [node.op for node in graph.nodes] == ["MaxPool", "Add"]


def test_shape_arithmetic_is_folded_once_the_axes_are_fixed() -> None:
    graph = import_model(dynamic().model(), {"batch": 3})
    assert [node.op for node in graph.nodes] == ["Reshape", "MatMul"]
    assert graph.constants[graph.nodes[0].inputs[1]].tolist() == [3, 24]
    assert graph.values[graph.outputs[0]].shape == (3, 8)


def test_a_long_table_of_positions_is_gathered_beforehand() -> None:
    """As each BERT does with its token types; onnx's own evaluator stops at 64 entries."""
    builder = ModelBuilder()
    table, places = np.arange(512.0, dtype=np.float32)[None], np.arange(511, 447, -1)[None]
    rows = builder.add("GatherElements", builder.constant(table), builder.constant(places), axis=1)
    builder.output(builder.add("Add", builder.input("x", [1, 64]), rows), [1, 64])
    graph = import_model(builder.model(), {})
    assert [node.op for node in graph.nodes] == ["Add"]
    assert np.array_equal(graph.constants[rows], table[:, 511:447:-1])


def test_an_open_dimension_is_named_with_the_flag_that_sets_it() -> None:
    with pytest.raises(Unsupported, match=r"batch.*'x'.*--axis batch=1"):
        import_model(dynamic().model(), {})


def test_an_axis_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(Unsupported, match=r"no axis 'batc'.*: batch$"):
        import_model(dynamic().model(), {"batch": 1, "batc": 4})


def test_an_unnamed_open_dimension_can_be_set_too() -> None:
    builder = ModelBuilder()
    x = builder.input("x", ["batch", 4])
    builder.output(builder.add("Relu", x), ["batch", 4])
    model = builder.model()
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    with pytest.raises(Unsupported, match=r"--axis x_0=1"):
        import_model(model, {})
    assert import_model(model, {"x_0": 5}).values["x"].shape == (5, 4)


def test_states_come_from_the_file_and_axes_from_its_usual_sizes(tmp_path: Path) -> None:
    model = cnn_step(2, 32).model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.helper.set_model_props(
        model, {"graphlap.states": '[["s0", "t0"]]', "graphlap.axes": '{"batch": 2}'}
    )
    path = tmp_path / "step.onnx"
    onnx.save(model, path)
    graph = load(path)
    assert graph.states == (("s0", "t0"),)
    assert graph.values["x"].shape == (2, 32, 1)
    assert load(path, {"batch": 7}).values["x"].shape == (7, 32, 1)
    assert load(path, {}, ()).states == ()


def test_constants_are_computed_and_unused_ones_dropped() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [2, 4])
    scale = builder.add(
        "Mul",
        builder.constant(np.array([2.0], np.float32)),
        builder.constant(np.array([3.0], np.float32)),
    )
    builder.add("Relu", x)
    builder.output(builder.add("Mul", x, scale), [2, 4])
    graph = builder.graph()
    assert [node.op for node in graph.nodes] == ["Mul"]
    assert [array.tolist() for array in graph.constants.values()] == [[6.0]]


def test_a_local_function_is_taken_apart() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [2, 4])
    builder.output("y", [2, 4])
    builder.nodes.append(helper.make_node("Twice", [x], ["y"], domain="mine"))
    graph = helper.make_graph(builder.nodes, "graph", builder.inputs, builder.outputs)
    opset = helper.make_opsetid("", 20)
    function = helper.make_function(
        "mine", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [opset]
    )
    model = helper.make_model(
        graph, opset_imports=[opset, helper.make_opsetid("mine", 1)], functions=[function]
    )
    assert [node.op for node in import_model(model, {}).nodes] == ["Add"]


def test_what_depends_on_data_is_named() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [4])
    builder.output(builder.add("NonZero", x), [1, "n"], TensorProto.INT64)
    with pytest.raises(Unsupported, match=r"NonZero_0.*depends on data") as exc_info:
        builder.graph()
    assert exc_info.value.node == "NonZero_0"


def test_control_flow_is_named() -> None:
    builder = ModelBuilder()
    flag = builder.input("flag", [], TensorProto.BOOL)
    body = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value_float=1.0)],
        "body",
        [],
        [helper.make_tensor_value_info("k", FLOAT, [])],
    )
    builder.output(builder.add("If", flag, then_branch=body, else_branch=body), [])
    with pytest.raises(Unsupported, match="If node 'If_0'"):
        builder.graph()


def test_an_operator_of_another_domain_is_named() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [4])
    builder.nodes.append(helper.make_node("Magic", [x], ["y"], name="wand", domain="com.magic"))
    builder.output("y", [4])
    graph = helper.make_graph(builder.nodes, "graph", builder.inputs, builder.outputs)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.magic", 1)]
    with pytest.raises(Unsupported, match=r"com\.magic\.Magic \(node 'wand'\)"):
        import_model(helper.make_model(graph, opset_imports=opsets), {})


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("hello")
    with pytest.raises(CompileFault, match="is no valid ONNX file"):
        load(path)
    with pytest.raises(CompileFault, match="is no valid ONNX file"):
        load(tmp_path / "absent.onnx")


def groups(builder: ModelBuilder) -> list[list[str]]:
    return [[node.op for node in group.nodes] for group in fuse(builder.graph())]


def convolution(builder: ModelBuilder) -> str:
    x = builder.input("x", [1, 4, 6])
    return builder.add("Conv", x, builder.weights(8, 4, 3))


def test_norm_scale_and_bias_go_into_the_weights() -> None:
    builder = ModelBuilder()
    y = convolution(builder)
    y = builder.add("BatchNormalization", y, *(builder.weights(8) for _ in range(4)))
    y = builder.add("Mul", builder.weights(8, 1), y)
    y = builder.add("Add", y, builder.weights(1, 8, 1))
    builder.output(builder.add("Relu", y))
    assert groups(builder) == [["Conv", "BatchNormalization", "Mul", "Add"], ["Relu"]]


def test_what_no_row_of_weights_can_hold_stays() -> None:
    for shape in ((4,), (8, 4), (2, 8, 4)):
        builder = ModelBuilder()
        builder.output(builder.add("Add", convolution(builder), builder.weights(*shape)))
        assert groups(builder) == [["Conv"], ["Add"]], shape


def test_a_norm_whose_statistics_are_computed_stays() -> None:
    builder = ModelBuilder()
    mean = builder.input("mean", [8])
    statistics = [builder.weights(8) for _ in range(3)]
    y = convolution(builder)
    builder.output(builder.add("BatchNormalization", y, *statistics[:2], mean, statistics[2]))
    assert groups(builder) == [["Conv"], ["BatchNormalization"]]


def test_a_tensor_that_others_read_ends_a_chain() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [1, 4])
    y = builder.add("Relu", x)
    builder.output(builder.add("Sigmoid", y))
    builder.output(builder.add("Tanh", y))
    assert groups(builder) == [["Relu"], ["Sigmoid"], ["Tanh"]]


def test_a_chain_ends_where_its_shape_grows() -> None:
    builder = ModelBuilder()
    y = builder.add("Relu", builder.input("x", [1, 4]))
    builder.output(builder.add("Add", y, builder.constant(np.zeros((3, 4), np.float32))))
    assert groups(builder) == [["Relu"], ["Add"]]


def test_a_chain_waits_for_the_operand_it_needs_last() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [1, 4])
    activation = builder.add("Relu", builder.add("MatMul", x, builder.weights(4, 4)))
    other = builder.add("MatMul", x, builder.weights(4, 4))
    builder.output(builder.add("Add", activation, other))
    assert groups(builder) == [["MatMul"], ["MatMul"], ["Relu", "Add"]]
