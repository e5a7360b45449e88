"""Whether two engines' outputs of one node agree, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tests.differential.draft import kind_of

_RELATIVE = {"bfloat16": 2**-7, "float16": 1e-2, "float32": 1e-4, "float64": 1e-6}
"""Of the element and of the largest element, by type; 8-bit floats may differ by one step."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """`worst` is the largest absolute difference; `fault` says what differs, empty for nothing."""

    fault: str = ""
    worst: float = 0.0


def compare(actual: Any, expected: Any, *, values: bool = True, types: bool = True) -> Agreement:
    """Of one output; without `values` its shape and type alone, without `types` its values."""
    if isinstance(actual, dict) or isinstance(expected, dict):
        return Agreement("" if actual == expected else "other maps")
    if isinstance(actual, (list, tuple)) or isinstance(expected, (list, tuple)):
        return _sequences(actual, expected, values=values, types=types)
    if actual is None or expected is None:
        return Agreement("" if actual is expected else "a value and none")
    a, b = np.asarray(actual), np.asarray(expected)
    texts = a.dtype.kind in "OUS" and b.dtype.kind in "OUS"
    if types and a.dtype != b.dtype and not texts:
        return Agreement(f"type {a.dtype}, other {b.dtype}")
    if a.shape != b.shape:
        return Agreement(f"shape {a.shape}, other {b.shape}")
    if not values:
        return Agreement()
    if texts:
        return Agreement("" if a.tolist() == b.tolist() else "other texts")
    relative, of_largest, least = _tolerances(min(a.dtype, b.dtype, key=_coarseness))
    with np.errstate(all="ignore"):
        wide: Any = object if a.dtype.kind in "iu" and a.dtype.itemsize == 8 else np.float64
        x, y = (np.asarray(v.astype(wide)).ravel() for v in (a, b))
        if wide is object:
            most = max((abs(int(p) - int(q)) for p, q in zip(x, y, strict=True)), default=0)
            return Agreement("other values" if most else "", float(most))
        finite = np.isfinite(x) & np.isfinite(y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        distance = np.abs(x - y)
        scale = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        is_near = finite & (distance <= relative * np.abs(y) + of_largest * scale + least)
        if (same | is_near).all():
            return Agreement("", float(np.max(distance[finite], initial=0.0)))
        worst = float("inf") if not (same | finite).all() else float(np.max(distance[finite]))
    return Agreement("other values", worst)


def _coarseness(dtype: np.dtype) -> tuple[bool, int]:
    return kind_of(dtype) != "f", dtype.itemsize


def _tolerances(dtype: np.dtype) -> tuple[float, float, float]:
    """Of the element, of the largest element, and in any case."""
    if kind_of(dtype) != "f":
        return 0.0, 0.0, 0.0
    if dtype.itemsize == 1:
        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        return float(limits.eps), 0.0, float(limits.smallest_subnormal)
    relative = _RELATIVE[dtype.name]
    return relative, relative, relative * 0.1


def _sequences(actual: Any, expected: Any, *, values: bool, types: bool) -> Agreement:
    if not (isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple))):
        return Agreement("a sequence and none")
    if len(actual) != len(expected):
        return Agreement(f"{len(actual)} elements, other {len(expected)}")
    for a, b in zip(actual, expected, strict=True):
        difference = compare(a, b, values=values, types=types)
        if difference.fault:
            return difference
    return Agreement()
