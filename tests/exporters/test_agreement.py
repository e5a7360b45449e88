"""What outputs may be off by follows from the types that they were computed in."""

from __future__ import annotations

import numpy as np
import pytest

from exporters.agreement import TOLERANCE, difference, tolerance_of
from exporters.types import TensorSpec
from runtimes.fpga.numerics.bf16 import round_bf16

FLOAT, HALF = (TensorSpec("y", dtype, (1,)) for dtype in ("float32", "float16"))


def test_the_tolerance_is_that_of_the_narrowest_type_whatever_the_engine_says() -> None:
    assert tolerance_of(("fp32", "fp32"), 1, [FLOAT]) == TOLERANCE["fp32"]
    assert tolerance_of(("fp32", "fp16"), 1, [FLOAT]) == TOLERANCE["fp16"]
    assert tolerance_of(("fp32", "int8"), 1, [FLOAT]) == TOLERANCE["int8"]
    assert tolerance_of(("bf16", "fp32"), 1, [FLOAT]) == TOLERANCE["bf16"]
    assert tolerance_of(("fp32", "fp32"), 1, [FLOAT, HALF]) == TOLERANCE["fp16"]
    assert tolerance_of(("unknown",), 1, []) == TOLERANCE["fp32"]


def test_bf16_is_given_more_the_more_products_follow_each_other() -> None:
    """The bound is above what a chain of rounded products does, and not far above it."""
    depth = 100
    assert tolerance_of(["fp32"], depth, [FLOAT]) == TOLERANCE["fp32"]
    rng = np.random.default_rng(0)
    exact = rounded = rng.standard_normal((16, 128)).astype(np.float32)
    for _ in range(depth):
        weights, _ = np.linalg.qr(rng.standard_normal((128, 128)))
        exact = exact @ weights.astype(np.float32)
        rounded = round_bf16(rounded) @ round_bf16(weights.astype(np.float32))
    allowed = tolerance_of(["bf16"], depth, [FLOAT])
    assert allowed == pytest.approx(2**-8 * 10)
    assert allowed / 10 < difference(rounded, exact).relative <= allowed


def test_what_is_stored_in_bf16_throughout_has_eight_times_fp16s_room() -> None:
    told = tolerance_of(("bf16", "bf16 tensors"), 1, [FLOAT])
    assert told == pytest.approx(8 * TOLERANCE["fp16"])
