"""Values and bits of types that numpy lacks, against the independent package ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from exporters.narrow_types import NARROW_TYPES, widen

PACKAGE_TYPES = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "uint4": ml_dtypes.uint4,
    "int4": ml_dtypes.int4,
    "uint2": ml_dtypes.uint2,
    "int2": ml_dtypes.int2,
}
EACH = pytest.mark.parametrize("name", NARROW_TYPES)


@EACH
def test_a_type_has_the_number_and_values_of_onnx(name: str) -> None:
    narrow, dtype = NARROW_TYPES[name], PACKAGE_TYPES[name]
    assert narrow.number == getattr(onnx.TensorProto, name.upper())
    patterns = np.arange(2**narrow.bits, dtype=np.uint16 if narrow.bits == 16 else np.uint8)
    if narrow.bits < 8:
        # ONNX: the first element is in the lowest bits of a byte.
        shares = [patterns[place :: 8 // narrow.bits] for place in range(8 // narrow.bits)]
        shifted_shares = [share << narrow.bits * place for place, share in enumerate(shares)]
        content = np.bitwise_or.reduce(shifted_shares).tobytes()
        negative_values = {p: p - len(patterns) for p in range(len(patterns) // 2, len(patterns))}
        is_signed = name.startswith("int")
        expected = np.array(
            [negative_values.get(int(p), p) if is_signed else int(p) for p in patterns]
        )
    else:
        content = patterns.tobytes()
        expected = patterns.view(dtype).astype(np.float32)
    values = narrow.unpack(content, [2, len(patterns) // 2])
    assert values.dtype == narrow.held_as
    assert np.array_equal(values.ravel(), expected, equal_nan=narrow.held_as == "float32")


@EACH
def test_numbers_are_rounded_as_the_package_rounds_and_kept_by_packing(name: str) -> None:
    narrow, dtype = NARROW_TYPES[name], PACKAGE_TYPES[name]
    numbers = np.random.default_rng(0).standard_normal((7, 9)) * 3
    array = (np.abs(numbers) if name.startswith("uint") else numbers).astype(np.float32)
    if narrow.bits < 8:
        array = np.clip(np.rint(array), narrow.values.min(), narrow.values.max())
    nearest = narrow.round(array)
    assert np.array_equal(nearest, array.astype(dtype).astype(narrow.held_as))
    content = narrow.pack(nearest)
    assert content.shape == array.shape
    assert np.array_equal(narrow.unpack(content.tobytes(), array.shape), nearest)
    assert np.array_equal(widen(nearest.astype(dtype)), nearest)


@EACH
def test_what_is_too_large_becomes_the_largest(name: str) -> None:
    narrow = NARROW_TYPES[name]
    largest = narrow.round(np.array([np.finfo(np.float32).max]))
    assert np.isfinite(largest).all()
    limits = ml_dtypes.iinfo if narrow.bits < 8 else ml_dtypes.finfo
    assert largest[0] == float(limits(PACKAGE_TYPES[name]).max)


def test_nan_stays_nan_in_floats() -> None:
    for narrow in NARROW_TYPES.values():
        if narrow.held_as == "float32":
            array = np.array([np.nan, 1.0], np.float32)
            assert np.array_equal(narrow.round(array), array, equal_nan=True)
