"""What depends on new inputs is read from the graph, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower.builder import Freshness
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step


def window() -> tuple[ModelBuilder, str]:
    """Three held steps and one new one, four channels."""
    builder = ModelBuilder()
    state = builder.input("state", [1, 4, 3])
    x = builder.input("x", [1, 4, 1])
    joined_input = builder.add("Concat", state, x, axis=2)
    builder.states.append(("state", "never"))
    return builder, joined_input


def mask_of(builder: ModelBuilder, name: str) -> np.ndarray:
    builder.output(name)
    return Freshness(builder.graph()).elements(name)


def test_a_joined_state_stays_apart_from_the_new_input() -> None:
    builder, joined_input = window()
    assert mask_of(builder, joined_input).tolist() == [[[False, False, False, True]] * 4]


@pytest.mark.parametrize(
    ("bounds", "fresh"),
    [
        ((0, 3, 2, 1), [False, False, False]),
        ((1, 99, 2, 1), [False, False, True]),
        ((-1, 99, 2, 1), [True]),
        ((3, -99, 2, -1), [True, False, False, False]),
    ],
)
def test_slices_keep_what_they_cut(bounds: tuple[int, int, int, int], fresh: list[bool]) -> None:
    builder, joined_input = window()
    cut = builder.add("Slice", joined_input, *(builder.constant(np.array([b])) for b in bounds))
    assert mask_of(builder, cut).tolist() == [[fresh] * 4]


@pytest.mark.parametrize(
    ("op", "extra", "attributes"),
    [
        ("Transpose", (), {"perm": [2, 0, 1]}),
        ("Reshape", ([4, 4, 1],), {}),
        ("Flatten", (), {}),
        ("Pad", ([0, 0, 1, 0, 0, 1],), {}),
        ("Expand", ([2, 4, 4],), {}),
        ("Gather", ([1, 3],), {"axis": 2}),
    ],
)
def test_movement_moves_freshness_as_it_moves_numbers(
    op: str, extra: tuple[list[int], ...], attributes: dict[str, Any]
) -> None:
    """The mask must be what the operator itself makes of the mask as numbers."""
    from onnx.reference import ReferenceEvaluator

    builder, joined_input = window()
    moved_tensor = builder.add(
        op, joined_input, *(builder.constant(np.array(e)) for e in extra), **attributes
    )
    builder.output(moved_tensor)
    numbers = {"state": np.zeros((1, 4, 3), np.float32), "x": np.ones((1, 4, 1), np.float32)}
    (expected,) = ReferenceEvaluator(builder.model()).run(None, numbers)
    assert (Freshness(builder.graph()).elements(moved_tensor) == (np.asarray(expected) > 0)).all()


def test_a_split_gives_each_part_its_own() -> None:
    builder, joined_input = window()
    builder.add("Split", joined_input, builder.constant(np.array([3, 1])), outputs=2, axis=2)
    older, newer = builder.last_outputs()
    builder.output(older)
    builder.output(newer)
    freshness = Freshness(builder.graph())
    assert freshness.mask(older) is False
    assert freshness.mask(newer) is True


def test_a_convolution_is_fresh_where_its_window_sees_the_new_input() -> None:
    builder, joined_input = window()
    convolution = builder.add("Conv", joined_input, builder.weights(6, 4, 2))
    assert mask_of(builder, convolution).tolist() == [[[False, False, True]] * 6]


def test_elementwise_work_is_fresh_where_any_operand_is() -> None:
    builder, joined_input = window()
    scaled_tensor = builder.add("Mul", joined_input, builder.constant(np.ones((4, 1), np.float32)))
    assert mask_of(builder, scaled_tensor)[0, 0].tolist() == [False, False, False, True]


def test_a_product_of_state_alone_is_stale_and_of_any_input_fresh() -> None:
    builder = ModelBuilder()
    state = builder.input("state", [1, 4])
    x = builder.input("x", [1, 4])
    builder.states.append(("state", "never"))
    state_product = builder.add("MatMul", state, builder.weights(4, 4))
    total = builder.add("Add", state_product, x)
    builder.output(state_product)
    builder.output(total)
    freshness = Freshness(builder.graph())
    assert (freshness.count(state_product), freshness.count(total)) == (0, 4)


@pytest.mark.parametrize("made", [cnn_step(2, 8), lstm_step(2, 8)])
def test_without_state_everything_is_fresh(made: ModelBuilder) -> None:
    made.states.clear()
    graph: Graph = made.graph()
    freshness = Freshness(graph)
    assert all(freshness.elements(name).all() for name in graph.values)
