"""Whether two engines' outputs agree."""

from __future__ import annotations

from typing import Any

import numpy as np

_RELATIVE = {"bfloat16": 2**-7, "float16": 1e-2, "float32": 1e-4, "float64": 1e-6}
"""Of the element and of the largest element, by type; a tenth of it in any case."""


def agree(actual: Any, expected: Any) -> bool:
    """Of sequences, maps, tensors and texts: the same types, shapes and values."""
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        return len(actual) == len(expected) and all(map(agree, actual, expected))
    if isinstance(actual, dict) or isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and actual.keys() == expected.keys()
            and all(np.isclose(actual[key], expected[key]) for key in actual)
        )
    if actual is None or expected is None:
        return actual is expected
    a, b = np.asarray(actual), np.asarray(expected)
    texts = a.dtype.kind in "OUS" and b.dtype.kind in "OUS"
    if a.shape != b.shape or not (texts or a.dtype == b.dtype):
        return False
    if a.dtype.name not in _RELATIVE:
        return bool(np.array_equal(a, b))
    relative = _RELATIVE[a.dtype.name]
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        room = relative * (np.max(np.abs(y[np.isfinite(y)]), initial=0) + 0.1)
        return bool(np.allclose(x, y, relative, room, equal_nan=True))
