"""Matrix products, bf16 rounding and movements of data on the card, against definitions."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from runtimes.fpga.numerics.operator import round_bf16
from tests.runtimes.fpga.numerics.agreement import agree, agree_as_sums, few, random, seeds
from tests.runtimes.fpga.ort_sessions import model


@few
@given(
    st.lists(st.integers(1, 3), max_size=2),
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    st.booleans(),
    seeds,
)
def test_a_matrix_product_is_within_one_rounding_of_the_cpu(
    lead: list[int], sizes: tuple[int, int, int], held: bool, seed: int
) -> None:
    m, k, n = sizes
    a, b = random(seed, *lead, m, k), random(seed + 1, k, n)
    shapes: dict[str, tuple[int, ...]] = {"a": a.shape} | ({} if held else {"b": b.shape})
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    proto = model([node], shapes, {"y": None}, {"b": b} if held else {})
    agree_as_sums(proto, {"a": a} | ({} if held else {"b": b}), k)


@few
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([None, (), (1,), ("n",), ("m", 1), ("m", "n")]),
    st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)),
    seeds,
)
def test_a_product_with_factors_and_a_bias_is_within_one_rounding_of_the_cpu(
    sizes: tuple[int, int, int],
    transposed: tuple[bool, bool],
    bias: tuple[int | str, ...] | None,
    factors: tuple[float, float],
    seed: int,
) -> None:
    m, k, n = sizes
    a = random(seed, *((k, m) if transposed[0] else (m, k)))
    weights = {"b": random(seed + 1, *((n, k) if transposed[1] else (k, n)))}
    if bias is not None:
        symbolic_sizes = {"m": m, "n": n}
        weights["c"] = random(seed + 2, *(symbolic_sizes.get(str(s), 1) for s in bias))
    node = helper.make_node(
        "Gemm",
        ["a", *weights],
        ["y"],
        transA=int(transposed[0]),
        transB=int(transposed[1]),
        alpha=factors[0],
        beta=factors[1],
    )
    agree_as_sums(model([node], {"a": a.shape}, {"y": [m, n]}, weights), {"a": a}, k + 1)


def test_every_bf16_value_rounds_to_itself() -> None:
    every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    assert np.array_equal(round_bf16(every), every, equal_nan=True)


@given(st.integers(0, 0x7F7E))
def test_halfway_goes_to_the_even_neighbour(upper: int) -> None:
    low, half, high = np.array(
        [upper << 16, (upper << 16) + 0x8000, (upper + 1) << 16], np.uint32
    ).view(np.float32)
    even = low if upper % 2 == 0 else high
    assert round_bf16(half) == even
    assert round_bf16(np.nextafter(half, low)) == low
    assert round_bf16(np.nextafter(half, high)) == high


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_agrees_with_an_independent_conversion(values: list[float]) -> None:
    array = np.array(values, np.float32)
    with np.errstate(all="ignore"):
        expected = array.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(round_bf16(array), expected, equal_nan=True)


def test_no_nan_turns_into_a_number() -> None:
    payloads = np.array([0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF], np.uint32)
    assert np.isnan(round_bf16(payloads.view(np.float32))).all()


def test_beyond_the_largest_number_lies_infinity() -> None:
    assert round_bf16(np.float32(3.4e38)) == np.inf
    assert round_bf16(np.float32(-3.4e38)) == -np.inf


def test_shape_is_kept_and_the_argument_left_alone() -> None:
    x = np.full((3, 4, 5), 1.2345678, np.float32)
    view = x.transpose(2, 0, 1)[::2]
    assert round_bf16(view).shape == (3, 3, 4)
    assert round_bf16(np.float32(1)).shape == ()
    assert (x == np.float32(1.2345678)).all()


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
