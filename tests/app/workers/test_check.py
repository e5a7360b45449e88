"""Correctness: a wrong, missing or unwritten output never passes."""

import numpy as np
import pytest

from app.workers.check import compare, why_wrong

WANTED = {"y": np.array([[1.0, -2.0, 4.0]], np.float32)}


def test_error_is_relative_to_the_largest_value() -> None:
    got = {"y": np.array([[1.0, -2.0, 4.2]], np.float32)}
    check = compare(got, WANTED, "torch", 1e-4)
    assert check.max_abs_error == pytest.approx(0.2, rel=1e-5)
    assert check.max_rel_error == pytest.approx(0.05, rel=1e-5)
    assert not check.output_ok
    assert check.worst_output == "y"


def test_within_tolerance_passes() -> None:
    got = {"y": WANTED["y"] * np.float32(1.00001)}
    assert compare(got, WANTED, "torch", 1e-4).output_ok


@pytest.mark.parametrize(
    "got",
    [
        {},
        {"y": np.zeros((3, 1), np.float32)},
        {"y": np.full((1, 3), np.nan, np.float32)},
        {"y": np.array([[1.0, -2.0, np.inf]], np.float32)},
    ],
)
def test_missing_misshapen_and_poisoned_outputs_are_wrong(got: dict[str, np.ndarray]) -> None:
    assert not compare(got, WANTED, "torch", 1e-1).output_ok


def test_the_worst_of_several_outputs_decides() -> None:
    wanted = {"good": np.ones(3, np.float32), "bad": np.ones(3, np.float32)}
    got = {"bad": np.full(3, 2.0, np.float32), "good": np.ones(3, np.float32)}
    check = compare(got, wanted, "torch", 1e-4)
    assert not check.output_ok
    assert check.worst_output == "bad"


def test_equal_infinities_and_all_zero_outputs_agree() -> None:
    wanted = {"y": np.array([np.inf, 0.0, 1.0], np.float32), "z": np.zeros(2, np.float32)}
    assert compare(dict(wanted), wanted, "onnx", 1e-4).output_ok


def test_an_error_is_found_in_any_part_of_a_large_output() -> None:
    wanted = np.linspace(-1.0, 1.0, 700_001, dtype=np.float32)
    for position in (0, 300_000, 700_000):
        actual = wanted.copy()
        actual[position] += 0.5
        found = compare({"y": actual}, {"y": wanted}, "torch", 1e-4)
        assert not found.output_ok
        assert found.max_rel_error == pytest.approx(0.5, abs=1e-6)
        a, b = actual.astype(np.float64), wanted.astype(np.float64)
        assert found.cosine == pytest.approx(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
        actual[position] = np.nan
        assert compare({"y": actual}, {"y": wanted}, "torch", 1e-4).max_rel_error == np.inf


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_classes_and_masks_must_be_equal_and_the_share_that_differs_is_told(dtype: type) -> None:
    wanted: dict[str, np.ndarray] = {"k": np.array([1, 0, 1, 1], dtype)}
    assert compare(dict(wanted), wanted, "onnx", 0.5).output_ok
    check = compare({"k": np.array([1, 0, 1, 0], dtype)}, wanted, "onnx", 10.0)
    assert not check.output_ok
    assert check.unequal == 0.25
    assert "in 25 % of its elements, and integers must be equal" in why_wrong(check, 1)


def test_an_output_that_is_nan_on_one_side_is_not_said_to_be_off_by_infinity() -> None:
    """As the padding of a Conv with a NaN weight is: some engines multiply it, others pass by."""
    holed = {"y": np.array([[1.0, np.nan, 4.0]], np.float32)}
    assert "is allowed" in why_wrong(compare({"y": WANTED["y"] + 1}, WANTED, "onnx", 1e-4), 1)
    for got, wanted in ((holed, WANTED), (WANTED, holed), ({}, WANTED)):
        said = why_wrong(compare(got, wanted, "onnx", 1e-4), 1)
        assert said.startswith("output 'y' differs from the onnx reference: one is missing, ")
        assert "NaN or infinite where the other is not" in said


def test_large_integers_that_are_one_double_are_told_apart() -> None:
    wanted = {"k": np.array([2**53 + 1])}
    assert not compare({"k": np.array([2**53])}, wanted, "onnx", 1e-4).output_ok


def test_a_quantised_output_may_be_a_step_off_and_a_class_may_not() -> None:
    bytes_, classes = np.array([200, 100], np.uint8), np.array([7])
    wanted: dict[str, np.ndarray] = {"q": bytes_, "k": classes}
    near = {"q": bytes_ + np.uint8(1), "k": classes}
    assert compare(near, wanted, "onnx", 0.1, steps=True).output_ok
    assert not compare(near, wanted, "onnx", 0.1).output_ok
    assert not compare({"q": bytes_, "k": classes + 1}, wanted, "onnx", 0.5, steps=True).output_ok


def test_nan_in_the_same_place_is_right_and_told() -> None:
    wanted = {"y": np.array([np.nan, 1.0], np.float32), "z": np.ones(1, np.float32)}
    check = compare(dict(wanted), wanted, "torch", 1e-4)
    assert (check.output_ok, check.nans) == (True, ("y",))
    moved = {**wanted, "y": np.array([1.0, np.nan], np.float32)}
    assert not compare(moved, wanted, "torch", 1e-4).output_ok
