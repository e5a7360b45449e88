"""Weights on cores: nothing is lost, nothing overflows, and the sum alone decides what fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import place
from runtimes.fpga.cards import load_card
from runtimes.fpga.lower.steps import Lowered, Matrix, MatrixStep

CARD = replace(load_card("ia-420f"), tiles_per_core=64)
BOUND = CARD.release("sdk21")
FREE = CARD.release("sdk26")


def weights(*tiles: int, recurrent: bool = False) -> Lowered:
    """Matrices of so many tiles, one row block each."""
    matrices = tuple(Matrix(f"m{i}", 1, 32, (32 * count,)) for i, count in enumerate(tiles))
    steps = tuple(MatrixStep("step", i, (), (), recurrent) for i in range(len(tiles)))
    return Lowered("graph", matrices, steps, 0, 0, "")


@given(st.lists(st.integers(1, 100), max_size=12), st.booleans())
def test_all_tiles_are_placed_within_every_cores_memory(tiles: list[int], recurrent: bool) -> None:
    lowered_graph = weights(*tiles, recurrent=recurrent)
    if sum(tiles) > CARD.tiles:
        with pytest.raises(Unsupported, match=f"needs {sum(tiles)} tiles, the card has 384"):
            place(lowered_graph, CARD, BOUND)
        return
    placement = place(lowered_graph, CARD, BOUND)
    assert [sum(core_tiles) for core_tiles in placement.tiles] == tiles
    assert (placement.used, placement.total) == (sum(tiles), 384)
    assert all(sum(core) <= CARD.tiles_per_core for core in zip(*placement.tiles, strict=True))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_cores_are_filled_evenly(tiles: list[int]) -> None:
    placement = place(weights(*tiles), CARD, FREE)
    core_totals = [sum(core) for core in zip(*placement.tiles, strict=True)]
    assert max(core_totals) - min(core_totals) <= 1


def test_a_full_card_still_fits() -> None:
    assert place(weights(384), CARD, FREE).tiles == ((64,) * 6,)


def test_a_bound_layer_keeps_to_its_cores_and_the_next_takes_the_others() -> None:
    first, second = place(weights(30, 30, recurrent=True), CARD, BOUND).tiles
    assert sorted(first) == sorted(second) == [0, 0, 0, 10, 10, 10]
    assert all(a == 0 or b == 0 for a, b in zip(first, second, strict=True))
