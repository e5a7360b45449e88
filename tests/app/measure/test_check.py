"""Correctness: a wrong, missing or unwritten output never passes."""

import numpy as np
import pytest

from app.measure.check import compare

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
