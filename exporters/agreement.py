"""How far outputs are from those expected, and may be: the one comparison of exports and rounds.

Numpy alone, in parts, so that comparing a large output does not take several times its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from exporters.types import TensorSpec

TOLERANCE: dict[str, float] = {
    "fp32": 1e-4,
    "tf32": 5e-3,
    "fp16": 1e-2,
    "bf16": 2e-2,
    "int8": 1e-1,
    "fp8": 2.0**-3,
    "bf16 tensors": 8e-2,
}
"""Largest accepted max|a-b| / max|b| by type; above each lies what a few products in it round off:
units in the last place of 2^-24, 2^-11, 2^-11, 2^-8, steps of 1 in 255, and 2^-3. What stores in
bf16 all that lies between its products too has eight times fp16's, as its units are."""
_UNITS = {"bf16": 2.0**-8, "fp8": 2.0**-3}
"""The distance of two neighbours in E8M7 and E4M3, relative to the smaller, at most."""
_MOST = 0.5
"""Outputs of zeros are off by 1: what may be off by more than half of that is hardly checked."""
_PART = 2**18


def tolerance_of(types: Iterable[str], depth: int, outputs: Iterable[TensorSpec]) -> float:
    """What outputs may be off by: of the coarsest of the types that they were computed in.

    An output in float16 has 11 bits of mantissa, whatever it was computed in. A product in bf16
    rounds two operands by up to 2^-9 of themselves each, one in fp8 (E4M3) by up to 2^-4. Those
    of `depth` products in a row are independent and add up to the root of their number (N. Higham
    and T. Mary, A new approach to probabilistic rounding error analysis, 2019), so that deep
    graphs are given 2^-8 sqrt(depth), or 2^-3 sqrt(depth), where that is more, and never more
    than 0.5. The other types' bounds are above theirs at any depth that there is.
    Types that are not known count for nothing.
    """
    named = {*types, *("fp16" for spec in outputs if spec.dtype == "float16")}
    known = [TOLERANCE[name] for name in named if name in TOLERANCE]
    deep = [unit * sqrt(depth) for name, unit in _UNITS.items() if name in named]
    return min(_MOST, max([TOLERANCE["fp32"], *deep, *known]))


@dataclass(frozen=True, slots=True)
class Difference:
    """One output: max|a-b|, that over max|b|, their cosine, and the elements that are not equal.

    `nans` are the elements that are NaN on both sides, which is equal. A missing or misshapen
    output, and one that is finite where the other is not, is infinitely far.
    """

    absolute: float
    relative: float
    cosine: float
    unequal: int
    nans: int = 0


def difference(got: np.ndarray | None, wanted: np.ndarray) -> Difference:
    """Of two arrays of one shape, in double precision; integers are told apart exactly."""
    if got is None or got.shape != wanted.shape:
        return Difference(np.inf, np.inf, 0.0, wanted.size)
    absolute = scale = product = square_a = square_b = 0.0
    unequal, nans, apart = 0, 0, False
    flat_a, flat_b = got.ravel(), wanted.ravel()
    for start in range(0, flat_b.size, _PART):
        part_a, part_b = flat_a[start : start + _PART], flat_b[start : start + _PART]
        a, b = part_a.astype(np.float64), part_b.astype(np.float64)
        both_nan = np.isnan(a) & np.isnan(b)
        differs = ~((part_a == part_b) | both_nan)
        nans += int(both_nan.sum())
        unequal += int(differs.sum())
        apart |= not (np.isfinite(a[differs]).all() and np.isfinite(b[differs]).all())
        finite = np.isfinite(b) & np.isfinite(a)
        a, b = a[finite], b[finite]
        absolute = max(absolute, float(np.max(np.abs(a - b), initial=0.0)))
        scale = max(scale, float(np.max(np.abs(b), initial=0.0)))
        product += float(a @ b)
        square_a += float(a @ a)
        square_b += float(b @ b)
    if apart:
        return Difference(np.inf, np.inf, 0.0, unequal, nans)
    if absolute == 0.0:
        return Difference(0.0, 0.0, 1.0, unequal, nans)
    norms = float(np.sqrt(square_a) * np.sqrt(square_b))
    cosine = product / norms if norms else 0.0
    return Difference(absolute, absolute / scale if scale else np.inf, cosine, unequal, nans)
