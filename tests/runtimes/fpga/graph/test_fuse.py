"""What runs as one: constants go into weights, element-wise chains become one pass."""

from __future__ import annotations

import numpy as np

from runtimes.fpga.graph.graph import fuse
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step


def groups(made: ModelBuilder) -> list[list[str]]:
    return [[node.op for node in group.nodes] for group in fuse(made.graph())]


def convolution(made: ModelBuilder) -> str:
    x = made.input("x", [1, 4, 6])
    return made.add("Conv", x, made.weights(8, 4, 3))


def test_norm_scale_and_bias_go_into_the_weights() -> None:
    made = ModelBuilder()
    y = convolution(made)
    y = made.add("BatchNormalization", y, *(made.weights(8) for _ in range(4)))
    y = made.add("Mul", made.weights(8, 1), y)
    y = made.add("Add", y, made.weights(1, 8, 1))
    made.output(made.add("Relu", y))
    assert groups(made) == [["Conv", "BatchNormalization", "Mul", "Add"], ["Relu"]]


def test_what_no_row_of_weights_can_hold_stays() -> None:
    for shape in ((4,), (8, 4), (2, 8, 4)):
        made = ModelBuilder()
        made.output(made.add("Add", convolution(made), made.weights(*shape)))
        assert groups(made) == [["Conv"], ["Add"]], shape


def test_a_norm_whose_statistics_are_computed_stays() -> None:
    made = ModelBuilder()
    mean = made.input("mean", [8])
    others = [made.weights(8) for _ in range(3)]
    y = convolution(made)
    made.output(made.add("BatchNormalization", y, *others[:2], mean, others[2]))
    assert groups(made) == [["Conv"], ["BatchNormalization"]]


def test_activation_and_residual_are_one_pass() -> None:
    assert groups(cnn_step(1, 8)) == [["Concat"], ["Slice"], ["Conv"], ["Relu", "Add"]]


def test_a_tensor_that_others_read_ends_a_chain() -> None:
    made = ModelBuilder()
    x = made.input("x", [1, 4])
    y = made.add("Relu", x)
    made.output(made.add("Sigmoid", y))
    made.output(made.add("Tanh", y))
    assert groups(made) == [["Relu"], ["Sigmoid"], ["Tanh"]]


def test_a_graph_output_ends_a_chain() -> None:
    made = ModelBuilder()
    y = made.output(made.add("Relu", made.input("x", [1, 4])))
    made.output(made.add("Tanh", y))
    assert groups(made) == [["Relu"], ["Tanh"]]


def test_a_chain_ends_where_its_shape_grows() -> None:
    made = ModelBuilder()
    y = made.add("Relu", made.input("x", [1, 4]))
    made.output(made.add("Add", y, made.constant(np.zeros((3, 4), np.float32))))
    assert groups(made) == [["Relu"], ["Add"]]


def test_a_chain_waits_for_the_operand_it_needs_last() -> None:
    made = ModelBuilder()
    x = made.input("x", [1, 4])
    activated = made.add("Relu", made.add("MatMul", x, made.weights(4, 4)))
    other = made.add("MatMul", x, made.weights(4, 4))
    made.output(made.add("Add", activated, other))
    assert groups(made) == [["MatMul"], ["MatMul"], ["Relu", "Add"]]
