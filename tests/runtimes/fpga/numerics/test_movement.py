"""Padding, slicing, joining and transposing on the card: nothing is computed, nothing changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.runtimes.fpga.numerics.agreement import agree, few, random, seeds
from tests.runtimes.fpga.ort_sessions import model


@dataclass(frozen=True, slots=True)
class Moves:
    """What each of the four nodes does to a tensor of `shape`."""

    shape: tuple[int, ...]
    pads: tuple[int, ...]
    mode: str
    start: tuple[int, ...]
    end: tuple[int, ...]
    step: tuple[int, ...]
    joined: int
    order: tuple[int, ...]


@st.composite
def moves(draw: st.DrawFn) -> Moves:
    shape = draw(st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple))

    def one_each(values: st.SearchStrategy[int]) -> tuple[int, ...]:
        return draw(st.tuples(*[values] * len(shape)))

    return Moves(
        shape,
        pads=draw(st.tuples(*(st.integers(0, n - 1) for n in (*shape, *shape)))),
        mode=draw(st.sampled_from(["constant", "reflect", "edge"])),
        start=one_each(st.integers(-8, 8)),
        end=one_each(st.integers(-8, 8)),
        step=one_each(st.sampled_from([-2, -1, 1, 2])),
        joined=draw(st.integers(0, len(shape) - 1)),
        order=tuple(draw(st.permutations(range(len(shape))))),
    )


@few
@given(moves(), seeds)
def test_moved_values_arrive_where_the_cpu_puts_them(move: Moves, seed: int) -> None:
    x = random(seed, *move.shape)
    weights = {
        "pads": np.array(move.pads),
        "start": np.array(move.start),
        "end": np.array(move.end),
        "axes": np.arange(len(move.shape)),
        "step": np.array(move.step),
    }
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"], mode=move.mode),
        helper.make_node("Slice", ["p", "start", "end", "axes", "step"], ["s"]),
        helper.make_node("Concat", ["s", "s"], ["c"], axis=move.joined),
        helper.make_node("Transpose", ["c"], ["y"], perm=move.order),
    ]
    agree(model(nodes, {"x": move.shape}, {"y": None}, weights), {"x": x}, roundings=0)
