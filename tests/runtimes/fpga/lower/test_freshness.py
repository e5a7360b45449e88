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
    made = ModelBuilder()
    state = made.input("state", [1, 4, 3])
    x = made.input("x", [1, 4, 1])
    joined = made.add("Concat", state, x, axis=2)
    made.states.append(("state", "never"))
    return made, joined


def mask_of(made: ModelBuilder, name: str) -> np.ndarray:
    made.output(name)
    return Freshness(made.graph()).elements(name)


def test_a_joined_state_stays_apart_from_the_new_input() -> None:
    made, joined = window()
    assert mask_of(made, joined).tolist() == [[[False, False, False, True]] * 4]


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
    made, joined = window()
    cut = made.add("Slice", joined, *(made.constant(np.array([b])) for b in bounds))
    assert mask_of(made, cut).tolist() == [[fresh] * 4]


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

    made, joined = window()
    moved = made.add(op, joined, *(made.constant(np.array(e)) for e in extra), **attributes)
    made.output(moved)
    numbers = {"state": np.zeros((1, 4, 3), np.float32), "x": np.ones((1, 4, 1), np.float32)}
    (expected,) = ReferenceEvaluator(made.model()).run(None, numbers)
    assert (Freshness(made.graph()).elements(moved) == (np.asarray(expected) > 0)).all()


def test_a_slice_that_ends_before_the_axis_is_empty() -> None:
    made, joined = window()
    newest_first = made.add("Gather", joined, made.constant(np.array([3, 2, 1, 0])), axis=2)
    bounds = [made.constant(np.array([bound])) for bound in (0, -6, 2)]
    assert mask_of(made, made.add("Slice", newest_first, *bounds)).shape == (1, 4, 0)


def test_elements_are_counted_in_the_shape_that_operands_are_spread_to() -> None:
    made, joined = window()
    spread = made.add("Add", joined, made.constant(np.zeros((3, 4, 4), np.float32)))
    made.output(spread)
    assert Freshness(made.graph()).count(spread) == 3 * 4


def test_a_split_gives_each_part_its_own() -> None:
    made, joined = window()
    made.add("Split", joined, made.constant(np.array([3, 1])), outputs=2, axis=2)
    older, newer = made.last_outputs()
    made.output(older)
    made.output(newer)
    freshness = Freshness(made.graph())
    assert freshness.mask(older) is False
    assert freshness.mask(newer) is True


def test_a_convolution_is_fresh_where_its_window_sees_the_new_input() -> None:
    made, joined = window()
    convolved = made.add("Conv", joined, made.weights(6, 4, 2))
    assert mask_of(made, convolved).tolist() == [[[False, False, True]] * 6]


def test_elementwise_work_is_fresh_where_any_operand_is() -> None:
    made, joined = window()
    scaled = made.add("Mul", joined, made.constant(np.ones((4, 1), np.float32)))
    assert mask_of(made, scaled)[0, 0].tolist() == [False, False, False, True]


def test_an_operator_that_mixes_elements_makes_all_fresh() -> None:
    made, joined = window()
    assert mask_of(made, made.add("Softmax", joined, axis=-1)).all()


def test_a_product_of_state_alone_is_stale_and_of_any_input_fresh() -> None:
    made = ModelBuilder()
    state = made.input("state", [1, 4])
    x = made.input("x", [1, 4])
    made.states.append(("state", "never"))
    held = made.add("MatMul", state, made.weights(4, 4))
    summed = made.add("Add", held, x)
    made.output(held)
    made.output(summed)
    freshness = Freshness(made.graph())
    assert (freshness.count(held), freshness.count(summed)) == (0, 4)


@pytest.mark.parametrize("made", [cnn_step(2, 8), lstm_step(2, 8)])
def test_without_state_everything_is_fresh(made: ModelBuilder) -> None:
    made.states.clear()
    graph: Graph = made.graph()
    freshness = Freshness(graph)
    assert all(freshness.elements(name).all() for name in graph.values)
