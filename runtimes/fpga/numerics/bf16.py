"""Rounding to bfloat16: float32 arrays in, float32 arrays that hold bf16 values out."""

from __future__ import annotations

import numpy as np

_HALF = np.uint32(0x7FFF)
_KEPT = np.uint32(0xFFFF0000)
_ONE = np.uint32(1)
_SHIFT = np.uint32(16)

LARGEST = np.float32((2 - 2**-7) * 2.0**127)
"""The largest finite bf16."""


def finite_bf16(array: np.ndarray | np.float32) -> np.ndarray:
    """As `round_bf16`, but what is finite stays finite: the lowest float32, with which attention
    is masked, becomes the lowest bf16."""
    rounded = round_bf16(array)
    return np.where(np.isfinite(array), np.clip(rounded, -LARGEST, LARGEST), rounded)


def round_bf16(values: np.ndarray | np.float32) -> np.ndarray:
    """The nearest bf16 of each value, ties to even, as a new float32 array of that shape.

    Values beyond the largest bf16 become infinite; NaN stays NaN.
    """
    single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    rounded = bits >> _SHIFT
    rounded &= _ONE
    rounded += _HALF
    rounded += bits
    rounded &= _KEPT
    result = rounded.view(np.float32).reshape(np.shape(values))
    # The carry can run from a NaN's payload into its exponent and sign.
    nan = np.isnan(single)
    if nan.any():
        result[nan.reshape(result.shape)] = np.nan
    return result
