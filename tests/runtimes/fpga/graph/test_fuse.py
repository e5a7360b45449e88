"""What runs as one: constants go into weights, element-wise chains become one pass."""

from __future__ import annotations

import numpy as np

from runtimes.fpga.graph.graph import fuse
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step


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


def test_activation_and_residual_are_one_pass() -> None:
    assert groups(cnn_step(1, 8)) == [["Concat"], ["Slice"], ["Conv"], ["Relu", "Add"]]


def test_a_tensor_that_others_read_ends_a_chain() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [1, 4])
    y = builder.add("Relu", x)
    builder.output(builder.add("Sigmoid", y))
    builder.output(builder.add("Tanh", y))
    assert groups(builder) == [["Relu"], ["Sigmoid"], ["Tanh"]]


def test_a_graph_output_ends_a_chain() -> None:
    builder = ModelBuilder()
    y = builder.output(builder.add("Relu", builder.input("x", [1, 4])))
    builder.output(builder.add("Tanh", y))
    assert groups(builder) == [["Relu"], ["Tanh"]]


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
