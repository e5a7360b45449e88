"""Matrix products on the card against ONNX Runtime's CPU."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.runtimes.fpga.numerics.agreement import agree_as_sums, few, random, seeds
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
