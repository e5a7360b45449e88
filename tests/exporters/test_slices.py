"""Slices: what is lost beside large values shows, and what was never there does not."""

from __future__ import annotations

import numpy as np
import pytest

from app.workers.output_check import Allowances, compare
from exporters.slices import LOST, ROUNDING, compared

RNG = np.random.default_rng(5)
NORMAL = RNG.standard_normal((32, 64)).astype(np.float32)
MASSIVE = NORMAL + np.float32(3000) * (np.arange(64) == 0)


def test_zeroed_channels_beside_a_massive_one_are_wrong_in_every_precision() -> None:
    actual = MASSIVE.copy()
    actual[:, 1:] = 0.0
    for tolerance in (5e-3, 1e-2, 2e-2, 1e-1):
        check = compare({"y": actual}, {"y": MASSIVE}, "onnx", tolerance)
        assert check.max_rel_error < tolerance
        assert (check.output_ok, check.slices_lost) == (False, 63 / 64)


def test_reversed_probabilities_beside_boxes_in_pixels_are_wrong() -> None:
    scores = RNG.random((100, 10)).astype(np.float32)
    boxes = (RNG.random((100, 4)) * 1e5).astype(np.float32)
    expected = np.concatenate([boxes, scores], axis=1)
    actual = np.concatenate([boxes, scores[:, ::-1]], axis=1)
    check = compare({"y": actual}, {"y": expected}, "onnx", 1e-4)
    assert check.max_rel_error < 1e-4
    assert not check.output_ok and "axis 1" in check.slice


def test_noise_of_half_the_largest_logit_is_wrong() -> None:
    expected = RNG.standard_normal((1, 1000)).astype(np.float32)
    noise = RNG.standard_normal((1, 1000)).astype(np.float32)
    check = compare({"y": expected + noise}, {"y": expected}, "onnx", 2.0)
    assert check.output_ok, "a larger tolerance holds for slices too"
    assert not compare({"y": expected + noise}, {"y": expected}, "onnx", 0.49).output_ok


def test_classes_that_are_empty_have_nothing_to_lose_in_a_known_range() -> None:
    """18 of 21 classes below a step of 1/255, as int8 leaves them."""
    expected = np.full((1, 21, 16, 16), 1e-4, np.float32)
    expected[:, :3] = RNG.dirichlet([1, 1, 1], (1, 16, 16)).transpose(0, 3, 1, 2)
    actual = np.round(expected * 255) / np.float32(255)
    steps = Allowances({"y": 1 / 255})
    assert compare({"y": actual}, {"y": expected}, "onnx", 0.1, allowances=steps).output_ok
    assert not compare({"y": actual}, {"y": expected}, "onnx", 0.1).output_ok


def test_few_lost_slices_are_right_at_lowered_precision_and_told() -> None:
    expected = NORMAL * np.where(np.arange(64) < 3, 1e-3, 1.0).astype(np.float32)
    actual = np.round(expected * 32) / np.float32(32)
    check = compare({"y": actual}, {"y": expected}, "onnx", 0.1)
    assert check.output_ok and check.slices_lost == pytest.approx(3 / 64)


@pytest.mark.parametrize("shape", [(), (8,), (2, 8), (1, 1, 5), (0, 20)])
def test_what_is_too_small_or_empty_has_no_slices(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.float32)
    found = compared(array * 2, array, 0.0)
    assert found is None or found.axis is None


def test_the_worst_slice_is_named_across_blocks() -> None:
    expected = np.ones((3000, 200), np.float32)
    actual = expected.copy()
    actual[2990] *= 3.0
    found = compared(actual, expected, ROUNDING)
    assert found is not None
    assert (found.axis, found.index) == (0, 2990) and found.error == pytest.approx(2.0)
    assert found.error > LOST and found.lost == pytest.approx(1 / 3000)
