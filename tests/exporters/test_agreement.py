"""What outputs may be off by, as a whole and in slices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import float8_e4m3fn

from app.workers.output_check import Allowances, compare
from exporters.agreement import (
    LOST,
    ROUNDING,
    TOLERANCE,
    Bound,
    Computed,
    Node,
    compared,
    difference,
    reconciled,
    scale_of,
    tolerance_of,
)
from exporters.types import (
    EVALUATED,
    PACKAGED,
    UNOPTIMISED,
    Disagreement,
    Reference,
    TensorSpec,
    load_reference,
    repeat_reference,
    save_reference,
)
from runtimes.fpga.numerics.operator import round_bf16

FLOAT, HALF = (TensorSpec("y", dtype, (1,)) for dtype in ("float32", "float16"))


@pytest.mark.parametrize(
    ("types", "specs", "expected"),
    [
        (("fp32", "fp16"), [FLOAT], TOLERANCE["fp16"]),
        (("fp32", "int8"), [FLOAT], TOLERANCE["int8"]),
        (("bf16", "fp32"), [FLOAT], TOLERANCE["bf16"]),
        (("fp32", "fp32"), [FLOAT, HALF], TOLERANCE["fp16"]),
        (("unknown",), [], TOLERANCE["fp32"]),
        (("bf16", "bf16 tensors"), [FLOAT], 8 * TOLERANCE["fp16"]),
    ],
)
def test_the_tolerance_is_that_of_the_narrowest_type_whatever_the_engine_says(
    types: tuple[str, ...], specs: list[TensorSpec], expected: float
) -> None:
    assert tolerance_of(types, 1, specs) == pytest.approx(expected)


def test_bf16_is_given_more_the_more_products_follow_each_other() -> None:
    """The bound is above what a chain of rounded products does, and not far above it."""
    depth = 100
    assert tolerance_of(["fp32"], depth, [FLOAT]) == TOLERANCE["fp32"]
    rng = np.random.default_rng(0)
    exact = rounded_values = rng.standard_normal((16, 128)).astype(np.float32)
    for _ in range(depth):
        weights, _ = np.linalg.qr(rng.standard_normal((128, 128)))
        exact = exact @ weights.astype(np.float32)
        rounded_values = round_bf16(rounded_values) @ round_bf16(weights.astype(np.float32))
    tolerance = tolerance_of(["bf16"], depth, [FLOAT])
    assert tolerance == pytest.approx(2**-8 * 10)
    assert tolerance / 10 < difference(rounded_values, exact).relative <= tolerance


def test_what_a_network_amplifies_it_amplifies_in_each_precision() -> None:
    """A large value is added and taken away again: what remains has the errors of the large one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 128)).astype(np.float32)
    weights, _ = np.linalg.qr(rng.standard_normal((128, 128)))
    large = np.float32(60.0)

    def network(precision: type, order: slice) -> np.ndarray:
        w = weights.astype(precision).astype(np.float32)
        h = (x + large).astype(precision).astype(np.float32)
        product = h[:, order] @ w[order]
        return np.asarray(product.astype(precision).astype(np.float32) - large * weights.sum(0))

    forwards, backwards = slice(None), slice(None, None, -1)
    exact = network(np.float32, forwards)
    rounding = difference(network(np.float32, backwards), exact).relative
    error = difference(network(np.float16, forwards), exact).relative
    assert error > TOLERANCE["fp16"]
    assert error <= tolerance_of(["fp16"], 1, [FLOAT], rounding) < 20 * error
    assert tolerance_of(["fp16"], 1, [FLOAT], 1e-7) == TOLERANCE["fp16"]
    for kind in ("fp32", "int8"):
        assert tolerance_of([kind], 1, [FLOAT], rounding) == TOLERANCE[kind]


def test_a_right_product_in_fp8_is_within_its_tolerance() -> None:
    """By the largest output, as rows have it: 10 outputs of 64 terms with random signs."""
    rng = np.random.default_rng(0)
    data, weights = rng.standard_normal((1000, 64)), rng.standard_normal((1000, 64, 10))
    exact, actual = (
        np.einsum("nk,nkm->nm", x, w)
        for x, w in ((data, weights), (rounded_to_fp8(data), rounded_to_fp8(weights)))
    )
    error = actual - exact
    assert np.sqrt((error**2).mean() / (exact**2).mean()) == pytest.approx(0.0375, rel=0.05)
    relative = np.abs(error).max(axis=1) / np.abs(exact).max(axis=1)
    assert relative.max() <= tolerance_of(["fp8"], 1, [FLOAT])
    assert (relative > 2.0**-3).any(), "one distance of neighbours is too little"


def rounded_to_fp8(array: np.ndarray) -> np.ndarray:
    """To E4M3, its largest magnitude to the largest number of the type."""
    scale = np.abs(array).max() / 448.0
    return np.asarray((array / scale).astype(float8_e4m3fn).astype(np.float64) * scale)


@pytest.mark.parametrize("size", [1, 1e-3, 1e-10])
def test_an_output_of_zeros_may_be_off_by_next_to_nothing_of_its_inputs(size: float) -> None:
    zeros, noise = np.zeros(3, np.float32), np.full(3, 1e-30 * size, np.float64)
    inputs = {"x": np.array([-size, 0.0], np.float64), "ids": np.array([10**9])}
    scale = scale_of(inputs)
    assert scale == size
    assert difference(noise, zeros, scale).relative < TOLERANCE["fp32"]
    for wrong in (1e-20, 1e-6, 1.0):
        assert difference(noise * wrong / 1e-30, zeros, scale).relative > 1.0


def test_a_small_output_that_is_wrong_is_wrong_but_a_subnormal_may_be_flushed() -> None:
    small = np.array([1e-30, 2e-30], np.float32)
    assert difference(small[::-1], small).relative == pytest.approx(0.5)
    assert difference(np.zeros(2, np.float32), small).relative == 1.0
    half = np.array([1e-5, 2e-5], np.float16)
    assert difference(half[::-1], half).relative == pytest.approx(0.5, rel=0.1)
    subnormal = np.array([1e-40, 0.0], np.float32)
    assert difference(np.zeros(2, np.float32), subnormal).relative == 0.0
    assert difference(np.zeros(2), subnormal.astype(np.float64)).relative == 1.0


def test_inputs_that_say_nothing_of_a_scale_have_the_scale_1() -> None:
    values = np.array([np.nan, np.inf, 0.0], np.float32)
    for inputs in ({}, {"ids": np.array([7])}, {"x": values}, {"x": np.zeros((0, 3))}):
        assert scale_of(inputs) == 1.0


def test_the_imaginary_part_counts() -> None:
    expected = np.array([3 + 4j, 1j], np.complex64)
    error = difference(np.array([3 - 4j, 1j], np.complex64), expected)
    assert (error.absolute, error.relative, error.unequal) == (8.0, 1.6, 1)
    assert error.cosine == pytest.approx(-6 / 26)
    assert difference(expected.copy(), expected).relative == 0.0
    assert difference(expected * 1j, expected).relative > 1.0
    assert difference(np.array([3 + np.nan * 1j, 1j], np.complex64), expected).relative == np.inf


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


X: Mapping[str, np.ndarray] = {"x": np.ones((1, 4), np.float32)}
Y = np.array([[1.0, -2.0, 4.0, 0.0]], np.float32)
FP32 = Bound(TOLERANCE["fp32"])
NODE: Node = ("pool", "MaxPool")


def _reconcile(
    outputs: Mapping[str, np.ndarray], bound: Bound = FP32, node: Node | None = NODE
) -> Reference:
    return reconciled(X, Computed({n: {"y": y} for n, y in outputs.items()}), bound, lambda: node)


def test_references_within_a_tenth_of_the_tolerance_are_one_and_within_it_no_disagreement() -> None:
    result = _reconcile({PACKAGED: Y, EVALUATED: Y * np.float32(1.000001), UNOPTIMISED: Y.copy()})
    assert result.by == (PACKAGED, EVALUATED, UNOPTIMISED)
    assert (dict(result.others), result.disagreements) == ({}, ())
    assert np.array_equal(result.outputs["y"], Y)
    result = _reconcile({EVALUATED: Y, UNOPTIMISED: Y * np.float32(1.00005)})
    assert (result.by, [*result.others]) == ((EVALUATED,), [UNOPTIMISED])
    assert not result.disagreements


def test_each_pair_that_disagrees_is_named_with_its_output_and_its_node() -> None:
    result = _reconcile({PACKAGED: Y, EVALUATED: Y + 1, UNOPTIMISED: Y.copy()})
    assert (result.by, list(result.others)) == ((PACKAGED, UNOPTIMISED), [EVALUATED])
    data, runtime = result.disagreements
    assert data == Disagreement(PACKAGED, EVALUATED, "y", data.relative)
    assert data.relative == pytest.approx(0.2)
    assert (runtime.first, runtime.second, runtime.output) == (EVALUATED, UNOPTIMISED, "y")
    assert runtime.relative == pytest.approx(0.25)
    assert (runtime.node, runtime.operator) == NODE


@pytest.mark.parametrize("other", [Y[:, :2], np.full_like(Y, np.nan)])
def test_another_shape_and_a_nan_have_no_measure(other: np.ndarray) -> None:
    (disagreement,) = _reconcile({EVALUATED: Y, UNOPTIMISED: other}).disagreements
    assert (disagreement.relative, disagreement.unequal) == (None, None)


def test_integers_must_be_equal_unless_they_are_steps_of_a_quantised_graph() -> None:
    classes = np.array([7, 8], np.int64)
    (disagreement,) = _reconcile({EVALUATED: classes, UNOPTIMISED: np.array([7, 9])}).disagreements
    assert disagreement.unequal == 0.5
    first, second = (np.array([step, 100], np.uint8) for step in (200, 201))
    result = _reconcile({EVALUATED: first, UNOPTIMISED: second}, Bound(0.1, steps=True))
    assert (result.disagreements, list(result.others)) == ((), [UNOPTIMISED])


def test_a_node_that_is_not_found_has_a_reason() -> None:
    (disagreement,) = _reconcile({EVALUATED: Y, UNOPTIMISED: Y + 1}, node=None).disagreements
    assert disagreement.node == ""
    assert disagreement.no_node

    def fails() -> Node | None:
        raise MemoryError("too much")

    results = Computed({EVALUATED: {"y": Y}, UNOPTIMISED: {"y": Y + 1}})
    (other,) = reconciled(X, results, FP32, fails).disagreements
    assert (other.node, other.no_node) == ("", "too much")


def test_a_file_gives_back_what_was_saved_and_all_of_it_repeated_along_the_batch(
    tmp_path: Path,
) -> None:
    path, large = str(tmp_path / "reference.npz"), str(tmp_path / "large.npz")
    reference = _reconcile({PACKAGED: Y, EVALUATED: Y + 1, UNOPTIMISED: Y.copy()})
    save_reference(path, reference)
    repeat_reference(path, large, {"input:x": 0, "output:y": 0}, 3)
    for file, rows in ((path, 1), (large, 3)):
        again = load_reference(file)
        assert (again.by, again.missing) == (reference.by, reference.missing)
        assert np.array_equal(again.outputs["y"], np.repeat(Y, rows, 0))
        assert np.array_equal(again.others[EVALUATED]["y"], np.repeat(Y + 1, rows, 0))
    assert load_reference(path).disagreements == reference.disagreements
