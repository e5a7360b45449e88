"""Rounding to bf16, against its definition and another conversion."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtimes.fpga.numerics.operator import round_bf16


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
