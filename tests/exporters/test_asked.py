"""What is drawn from is a range that the input's type can hold, or the export says so."""

from __future__ import annotations

import numpy as np
import pytest

from exporters.inputs import in_ranges, seeded_inputs
from exporters.types import ExportError, TensorSpec

TYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
RANGES = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.5, 1.5),
    (0.0, 300.0),
    (0.0, 1e5),
    (0.0, 1e30),
    (-1e30, 0.0),
    (0.0, 1e300),
    (-8e307, 8e307),
    (9e18, 9.3e18),
    (-(2.0**63), 2.0**62),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ends", RANGES, ids=str)
def test_values_lie_in_the_range_or_it_is_refused(dtype: str, ends: tuple[float, float]) -> None:
    spec = TensorSpec("x", dtype, (1000,))
    try:
        (limited_spec,) = in_ranges([spec], {"x": ends}, "net.onnx")
    except ExportError as error:
        assert "--input-range x" in str(error)
        fits = dtype in ("float32", "float64") and max(map(abs, ends)) < 1e5
        assert not fits, "both hold it"
        return
    inputs = seeded_inputs([limited_spec], {}, 0)["x"]
    assert inputs.dtype == np.dtype(dtype)
    assert np.isfinite(inputs).all()
    values = [float(value) for value in inputs]
    assert ends[0] - 1e-3 <= min(values)
    assert max(values) <= ends[1] + 1e-3
