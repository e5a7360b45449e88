"""How far outputs are from those expected: the one comparison for exports and for rounds.

Numpy alone, in parts, so that comparing a large output does not take several times its memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_PART = 2**18


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
