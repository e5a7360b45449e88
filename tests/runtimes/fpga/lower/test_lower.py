"""Each operator as matrices, vectors and passes, counted by hand, and which inputs are new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from runtimes.errors import Unsupported
from runtimes.fpga.graph.graph import POINTWISE
from runtimes.fpga.graph.importer import import_model
from runtimes.fpga.lower import COMPUTE, MOVE, lower
from runtimes.fpga.lower.builder import Freshness
from runtimes.fpga.lower.steps import ElementStep, Lowered, MatrixStep, Vectors
from runtimes.fpga.numerics import emulation  # noqa: F401  (fills OPERATORS)
from runtimes.fpga.numerics.operator import OPERATORS
from tests.runtimes.fpga.graphs import FLOAT, ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.ort_sessions import of_text


def lowered(builder: ModelBuilder) -> Lowered:
    return lower(builder.graph())


def shapes(result: Lowered) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(m.groups, m.rows, m.parts) for m in result.matrices]


def vectors(result: Lowered) -> list[tuple[Vectors, ...]]:
    return [step.vectors for step in result.steps if isinstance(step, MatrixStep)]


def single(
    op: str, shape: list[int], *extra: np.ndarray | str, kind: int = FLOAT, **attributes: Any
) -> ModelBuilder:
    builder = ModelBuilder()
    x = builder.input("x", shape, kind)
    names = [e if isinstance(e, str) else builder.constant(e) for e in extra]
    builder.output(builder.add(op, x, *names, **attributes), kind=kind)
    return builder


def weights(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("op", "shape", "weight", "attributes", "matrix", "count"),
    [
        ("Conv", [1, 3, 32], (8, 3, 5), {}, (1, 8, (15,)), 28),
        ("Conv", [2, 3, 32], (8, 3, 5), {"pads": [2, 2]}, (1, 8, (15,)), 64),
        ("Conv", [1, 4, 9, 9], (8, 4, 3, 3), {"strides": [2, 2]}, (1, 8, (36,)), 16),
        ("Conv", [1, 4, 9, 9], (8, 4, 3, 3), {"dilations": [2, 2]}, (1, 8, (36,)), 25),
        ("Conv", [1, 4, 5, 5, 5], (8, 4, 3, 3, 3), {}, (1, 8, (108,)), 27),
        ("Conv", [1, 8, 9, 9], (8, 1, 3, 3), {"group": 8}, (8, 1, (9,)), 49),
        ("Conv", [1, 8, 9, 9], (16, 4, 3, 3), {"group": 2}, (2, 8, (36,)), 49),
        (
            "Conv",
            [1, 4, 9],
            (8, 4, 3),
            {"auto_pad": "SAME_UPPER", "strides": [2]},
            (1, 8, (12,)),
            5,
        ),
        ("MatMul", [3, 16], (16, 8), {}, (1, 8, (16,)), 3),
        ("MatMul", [2, 3, 16], (16, 8), {}, (1, 8, (16,)), 6),
        ("MatMul", [2, 3, 16], (2, 16, 8), {}, (2, 8, (16,)), 3),
        ("MatMul", [3, 16], (2, 16, 8), {}, (2, 8, (16,)), 3),
        ("MatMul", [16], (16, 8), {}, (1, 8, (16,)), 1),
        ("MatMul", [3, 16], (16,), {}, (1, 1, (16,)), 3),
        ("Gemm", [3, 16], (8, 16), {"transB": 1}, (1, 8, (16,)), 3),
        ("Gemm", [16, 3], (16, 8), {"transA": 1}, (1, 8, (16,)), 3),
    ],
)
def test_convolutions_and_products(
    op: str,
    shape: list[int],
    weight: tuple[int, ...],
    attributes: dict[str, Any],
    matrix: tuple[int, int, tuple[int, ...]],
    count: int,
) -> None:
    result = lowered(single(op, shape, weights(*weight), **attributes))
    assert shapes(result) == [matrix]
    assert vectors(result) == [(Vectors(count, matrix[2]),)]


def test_a_second_operand_that_is_computed_is_written_to_tiles_first() -> None:
    text = "(float[2,3,16] a, float[2,16,8] b) => (float[2,3,8] y) { y = MatMul(a, b) }"
    result = lower(import_model(of_text(text), {}))
    write, product = result.steps
    assert isinstance(write, ElementStep)
    assert (write.fresh, write.passes) == (256, 1)
    assert product.after == (0,)
    assert shapes(result) == [(2, 8, (16,))]
    assert vectors(result) == [(Vectors(3, (16,)),)]


@pytest.mark.parametrize(
    ("linear_before_reset", "matrices", "steps"),
    [(1, [(1, 24, (4, 8))], 2), (0, [(1, 16, (4, 8)), (1, 8, (4, 8))], 4)],
)
def test_a_gru_waits_for_its_reset_gate_where_that_comes_first(
    linear_before_reset: int, matrices: list[tuple[int, int, tuple[int, ...]]], steps: int
) -> None:
    held = weights(1, 24, 4), weights(1, 24, 8)
    attributes = {"hidden_size": 8, "linear_before_reset": linear_before_reset}
    result = lowered(single("GRU", [1, 1, 4], *held, **attributes))
    assert shapes(result) == matrices
    assert len(result.steps) == steps
    assert all(step.after == (i - 1,) for i, step in enumerate(result.steps) if i)


def test_both_directions_take_turns() -> None:
    held = weights(2, 32, 4), weights(2, 32, 8)
    result = lowered(single("LSTM", [2, 1, 4], *held, hidden_size=8, direction="bidirectional"))
    turns = [step.name for step in result.steps if isinstance(step, MatrixStep)]
    assert turns == [f"LSTM_0.{turn}" for turn in ("0[0]", "1[1]", "0[1]", "1[0]")]


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "passes", "elements"),
    [
        ("MaxPool", [1, 4, 8, 8], {"kernel_shape": [2, 2], "strides": [2, 2]}, [4], 64),
        ("AveragePool", [1, 4, 8], {"kernel_shape": [3]}, [3], 24),
        ("GlobalAveragePool", [1, 4, 8], {}, [1], 32),
        ("Softmax", [1, 10], {"axis": 1}, [1, 1, 1], 10),
        ("LRN", [1, 8, 4, 4], {"size": 5}, [8], 128),
        ("Relu", [1, 10], {}, [1], 10),
        ("HardSwish", [1, 10], {}, [1], 10),
        ("Gelu", [1, 10], {}, [3], 10),
    ],
)
def test_passes_over_elements(
    op: str, shape: list[int], attributes: dict[str, Any], passes: list[int], elements: int
) -> None:
    steps = lowered(single(op, shape, **attributes)).steps
    assert [step.passes for step in steps if isinstance(step, ElementStep)] == passes
    assert all(step.fresh == elements for step in steps if isinstance(step, ElementStep))
    assert [step.after for step in steps] == [(i - 1,) if i else () for i in range(len(steps))]


@pytest.mark.parametrize(
    ("op", "extra", "attributes", "steps"),
    [
        ("Reshape", [[8, 3]], {}, 0),
        ("Flatten", [], {}, 0),
        ("Transpose", [], {"perm": [1, 0, 2]}, 0),
        ("Transpose", [], {"perm": [0, 2, 1]}, 1),
        ("Slice", [[0], [2], [1]], {}, 0),
        ("Slice", [[-1], [-99], [1], [-1]], {}, 1),
        ("Gather", [[1, 2]], {"axis": 1}, 0),
        ("Gather", [[-2, -1]], {"axis": 1}, 0),
        ("Gather", [[-1, 0]], {"axis": 1}, 1),
        ("Pad", [[0, 0, 1, 0, 0, 1]], {}, 0),
        ("Pad", [[0, 0, 1, 0, 0, 1]], {"mode": "reflect"}, 1),
        ("Tile", [[1, 2, 1]], {}, 1),
    ],
)
def test_only_movement_within_blocks_costs(
    op: str, extra: list[list[int]], attributes: dict[str, Any], steps: int
) -> None:
    arrays = [np.array(e) for e in extra]
    assert len(lowered(single(op, [1, 4, 6], *arrays, **attributes)).steps) == steps


def test_the_link_carries_new_inputs_and_real_outputs_in_bf16() -> None:
    result = lowered(cnn_step(3, 32, batch=2))
    assert (result.input_bytes, result.output_bytes) == (2 * 2 * 32, 2 * 2 * 32)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (cnn_step(2, 32), ""),
        (lstm_step(2, 32), ""),
        (mlp(32, 64, 32), ""),
        (mlp(32, 64, 32, batch=2), "several vectors"),
        (
            single("LSTM", [3, 1, 16], weights(1, 64, 16), weights(1, 64, 16), hidden_size=16),
            "3 time steps",
        ),
        (single("Relu", [1, 4]), "no matrix"),
        (single("BatchNormalization", [1, 4], *[weights(4)] * 4), "BatchNormalization"),
    ],
)
def test_only_what_the_tables_hold_is_calibrated(made: ModelBuilder, reason: str) -> None:
    result = lowered(made).extrapolated
    assert reason in result
    assert bool(result) == bool(reason)


def test_every_operator_that_the_card_computes_can_be_timed() -> None:
    assert set(OPERATORS) <= COMPUTE.keys() | MOVE.keys() | POINTWISE.keys()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (single("Det", [2, 3, 3]), r"Det \(node 'Det_0'\)"),
        (single("Relu", [2, 3], kind=TensorProto.DOUBLE), "no path for float64.*'Relu_0'"),
        (single("Conv", [4, 4, 3], "x"), "weights of Conv node 'Conv_0' are computed"),
    ],
)
def test_a_node_without_a_path_on_the_card_is_named(made: ModelBuilder, told: str) -> None:
    with pytest.raises(Unsupported, match=told):
        lowered(made)


def test_arithmetic_on_indices_is_the_hosts() -> None:
    text = """(float[1,8,4] x, int64[2] index) => (float[1,2,4] y) {
        doubled = Mul(index, two) [pick] y = Gather <axis = 1> (x, doubled)
    }"""
    (gather,) = lower(import_model(of_text(text, two=[2]), {})).steps
    assert (gather.name, gather.after) == ("pick", ())


@pytest.mark.parametrize(
    ("op", "extra", "attributes"),
    [
        ("Identity", (), {}),
        ("Transpose", (), {"perm": [2, 0, 1]}),
        ("Reshape", ([4, 4, 1],), {}),
        ("Flatten", (), {}),
        ("Pad", ([0, 0, 1, 0, 0, 1],), {}),
        ("Expand", ([2, 4, 4],), {}),
        ("Gather", ([1, 3],), {"axis": 2}),
        ("Slice", ([0], [3], [2], [1]), {}),
        ("Slice", ([1], [99], [2], [1]), {}),
        ("Slice", ([-1], [99], [2], [1]), {}),
        ("Slice", ([3], [-99], [2], [-1]), {}),
        ("Split", ([3, 1],), {"axis": 2, "outputs": 2}),
        ("Conv", (weights(6, 4, 2),), {}),
        ("Mul", (weights(4, 1),), {}),
    ],
)
def test_freshness_is_where_numbers_depend_on_the_new_input(
    op: str, extra: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    """Of three held steps and a new one: what the operator makes of the mask as numbers."""
    from onnx.reference import ReferenceEvaluator

    builder = ModelBuilder()
    state, x = builder.input("state", [1, 4, 3]), builder.input("x", [1, 4, 1])
    builder.states.append(("state", "never"))
    joined_input = builder.add("Concat", state, x, axis=2)
    builder.add(op, joined_input, *(builder.constant(np.array(e)) for e in extra), **attributes)
    names = builder.last_outputs()
    for name in names:
        builder.output(name)
    numbers = {"state": np.zeros((1, 4, 3), np.float32), "x": np.ones((1, 4, 1), np.float32)}
    freshness = Freshness(builder.graph())
    results = ReferenceEvaluator(builder.model()).run(None, numbers)
    for name, expected in zip(names, results, strict=True):
        assert (freshness.elements(name) == (np.asarray(expected) > 0)).all()
    if op == "Split":
        assert [freshness.mask(name) for name in names] == [False, True]
