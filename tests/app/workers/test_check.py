"""Correctness: a wrong, missing or unwritten output never passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.cases.round import Check
from app.workers.execution_facts import output_diagnostics, reference_diagnostics, saturation_note
from app.workers.output_check import (
    Verdict,
    check_lanes,
    check_outputs,
    compare,
    families,
    mismatch_text,
    verdict,
    worst,
)
from exporters.types import EVALUATED, PACKAGED, UNOPTIMISED, Disagreement, Reference
from runtimes.session import precision as host_cpu

OPTION = "session.x64quantprecision"


WANTED = {"y": np.array([[1.0, -2.0, 4.0]], np.float32)}


def test_error_is_relative_to_the_largest_value() -> None:
    actual = {"y": np.array([[1.0, -2.0, 4.2]], np.float32)}
    check = compare(actual, WANTED, "torch", 1e-4)
    assert check.max_abs_error == pytest.approx(0.2, rel=1e-5)
    assert check.max_rel_error == pytest.approx(0.05, rel=1e-5)
    assert not check.output_ok
    assert check.worst_output == "y"


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


def test_equal_infinities_and_all_zero_outputs_agree() -> None:
    expected = {"y": np.array([np.inf, 0.0, 1.0], np.float32), "z": np.zeros(2, np.float32)}
    assert compare(dict(expected), expected, "onnx", 1e-4).output_ok


def test_an_error_is_found_in_any_part_of_a_large_output() -> None:
    expected = np.linspace(-1.0, 1.0, 700_001, dtype=np.float32)
    for position in (0, 300_000, 700_000):
        actual = expected.copy()
        actual[position] += 0.5
        check = compare({"y": actual}, {"y": expected}, "torch", 1e-4)
        assert not check.output_ok
        assert check.max_rel_error == pytest.approx(0.5, abs=1e-6)
        a, b = actual.astype(np.float64), expected.astype(np.float64)
        assert check.cosine == pytest.approx(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
        actual[position] = np.nan
        assert compare({"y": actual}, {"y": expected}, "torch", 1e-4).max_rel_error == np.inf


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_classes_and_masks_must_be_equal_and_the_share_that_differs_is_told(dtype: type) -> None:
    expected: dict[str, np.ndarray] = {"k": np.array([1, 0, 1, 1], dtype)}
    assert compare(dict(expected), expected, "onnx", 0.5).output_ok
    check = compare({"k": np.array([1, 0, 1, 0], dtype)}, expected, "onnx", 10.0)
    assert not check.output_ok
    assert check.unequal == 0.25
    assert "in 25 % of its elements, and integers must be equal" in mismatch_text(check, 1)


def test_an_output_that_is_nan_on_one_side_is_not_said_to_be_off_by_infinity() -> None:
    """As the padding of a Conv with a NaN weight is: some engines multiply it, others pass by."""
    with_nan = {"y": np.array([[1.0, np.nan, 4.0]], np.float32)}
    assert "is allowed" in mismatch_text(compare({"y": WANTED["y"] + 1}, WANTED, "onnx", 1e-4), 1)
    for actual, expected in ((with_nan, WANTED), (WANTED, with_nan), ({}, WANTED)):
        message = mismatch_text(compare(actual, expected, "onnx", 1e-4), 1)
        assert message.startswith("output 'y' differs from the onnx reference: one is missing, ")
        assert "NaN or infinite where the other is not" in message


def test_large_integers_that_are_one_double_are_told_apart() -> None:
    expected = {"k": np.array([2**53 + 1])}
    assert not compare({"k": np.array([2**53])}, expected, "onnx", 1e-4).output_ok


def test_a_quantised_output_may_be_a_step_off_and_a_class_may_not() -> None:
    bytes_, classes = np.array([200, 100], np.uint8), np.array([7])
    expected: dict[str, np.ndarray] = {"q": bytes_, "k": classes}
    neighbour_values = {"q": bytes_ + np.uint8(1), "k": classes}
    assert compare(neighbour_values, expected, "onnx", 0.1, steps=True).output_ok
    assert not compare(neighbour_values, expected, "onnx", 0.1).output_ok
    assert not compare({"q": bytes_, "k": classes + 1}, expected, "onnx", 0.5, steps=True).output_ok


def test_nan_in_the_same_place_is_right_and_told() -> None:
    expected = {"y": np.array([np.nan, 1.0], np.float32), "z": np.ones(1, np.float32)}
    check = compare(dict(expected), expected, "torch", 1e-4)
    assert (check.output_ok, check.nans) == (True, ("y",))
    swapped_nan = {**expected, "y": np.array([1.0, np.nan], np.float32)}
    assert not compare(swapped_nan, expected, "torch", 1e-4).output_ok


A, B = np.array([1.0, 2.0], np.float32), np.array([1.0, 3.0], np.float32)


APART = Disagreement(EVALUATED, UNOPTIMISED, "y", 1 / 3, node="pool", operator="MaxPool")


DISPUTED = Reference(
    {"x": A}, {"y": A}, ("packaged", EVALUATED), {UNOPTIMISED: {"y": B}}, disagreements=(APART,)
)


MODEL: Any = SimpleNamespace(
    narrowest="fp32",
    precision="fp32",
    depth=1,
    outputs=(),
    reference="numpy",
    random_outputs=(),
    is_integer=False,
    bounded_outputs=(),
)


def _run_check(*outputs: np.ndarray, reference: Reference = DISPUTED, runtime: str = "") -> Check:
    """Of an engine whose lanes give these."""
    lanes: Sequence[Any] = [_Lane({"y": array}) for array in outputs]
    return check_lanes(lanes, "fp32", reference, MODEL, None, runtime)


class _Lane:
    def __init__(self, outputs: Mapping[str, np.ndarray]) -> None:
        self.outputs = lambda: outputs
        self.enter = self.poison = self.run = lambda: None
        self.bind = lambda inputs: None


def test_outputs_are_right_if_they_agree_with_any_independent_reference() -> None:
    first, second = _run_check(A), _run_check(B, B)
    assert (first.output_ok, first.reference, first.max_rel_error) == (True, "packaged", 0.0)
    assert first.agrees_with == ("packaged", EVALUATED)
    assert (second.output_ok, second.reference, second.max_rel_error) == (True, UNOPTIMISED, 0.0)
    assert second.agrees_with == (UNOPTIMISED,)
    for check in (first, second):
        assert check.references == ("packaged", EVALUATED, UNOPTIMISED)
        assert check.disagreements == (APART,)


def test_outputs_that_agree_with_no_reference_are_wrong_and_measured_by_the_nearest() -> None:
    check = _run_check(B + np.float32(0.3))
    assert (check.output_ok, check.reference, check.agrees_with) == (False, UNOPTIMISED, ())
    assert check.max_rel_error == pytest.approx(0.1, rel=1e-4)
    assert "every reference" in mismatch_text(check, 1)


def test_lanes_that_agree_with_different_references_are_wrong() -> None:
    """No one function gives both: the engine computes one of them wrongly."""
    check = _run_check(A, B)
    assert (check.output_ok, check.agrees_with) == (False, ())


def test_the_worst_of_several_checks_agrees_with_what_all_agree_with() -> None:
    assert worst([_run_check(A), _run_check(A)]).agrees_with == ("packaged", EVALUATED)
    assert worst([_run_check(A), _run_check(B)]).agrees_with == ()


def test_a_disagreement_is_one_warning_of_right_outputs_and_the_reason_of_wrong_ones() -> None:
    assert (
        len([*reference_diagnostics(_run_check(A))])
        == len([*reference_diagnostics(_run_check(B))])
        == 1
    )
    assert not [*reference_diagnostics(_run_check(B + 1))]
    agreement = Reference({"x": A}, {"y": A}, (EVALUATED, UNOPTIMISED))
    assert not [*reference_diagnostics(_run_check(A, reference=agreement))]


def test_zeros_that_come_out_as_almost_nothing_are_right() -> None:
    zeros = Reference({"x": A}, {"y": np.zeros(2, np.float32)}, (PACKAGED,))
    assert _run_check(np.full(2, 1e-30, np.float32), reference=zeros).output_ok
    assert not _run_check(np.full(2, 1e-9, np.float32), reference=zeros).output_ok


@pytest.mark.parametrize(
    ("flags", "runtime", "precisions", "references", "is_named"),
    [
        ("lm avx2", "ort-cpu@1.30", ("fp32", "int8"), (EVALUATED, UNOPTIMISED), True),
        ("lm avx2", "ort-cpu", ("fp32", "int8"), (EVALUATED,), False),
        ("lm avx2", "ort-cpu", ("fp32", "fp32"), (EVALUATED, UNOPTIMISED), False),
        ("lm avx2", "ort-cpu", ("int8", "int8"), (EVALUATED, UNOPTIMISED), False),
        ("lm avx2", "openvino-cpu", ("fp32", "int8"), (EVALUATED, UNOPTIMISED), False),
        ("lm avx2 avx_vnni", "ort-cpu", ("fp32", "int8"), (EVALUATED, UNOPTIMISED), False),
    ],
)
def test_saturation_is_named_where_only_the_optimised_engine_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
    runtime: str,
    precisions: tuple[str, str],
    references: tuple[str, ...],
    is_named: bool,
) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n", "utf-8")
    monkeypatch.setattr(host_cpu, "CPU_INFO", tmp_path / "cpuinfo")
    host_cpu.saturates_int8.cache_clear()
    model: Any = SimpleNamespace(precision=precisions[0], narrowest=precisions[1])
    check = Check(EVALUATED, 1.0, 0.2, 0.9, 0.1, False, "y", references=references)
    with_dispute = replace(check, disagreements=(Disagreement(EVALUATED, UNOPTIMISED, "y", 0.2),))
    notes = [saturation_note(each, model, runtime) for each in (check, with_dispute)]
    host_cpu.saturates_int8.cache_clear()
    assert [f"--option ort-cpu.{OPTION}=1" in note for note in notes] == [is_named, False]
    assert is_named or notes == ["", ""]


@pytest.mark.parametrize(("early", "references"), [(1.0, 1), (3.0, 2)])
def test_a_reference_of_some_outputs_dissents_and_supports_nothing(
    early: float, references: int
) -> None:
    """The evaluator has the output `early` alone, since `late` depends on what it gets wrong."""
    whole = {"early": np.array([early], np.float32), "late": np.array([2.0], np.float32)}
    some = {EVALUATED: {"early": np.array([1.0], np.float32)}}
    reference = Reference({}, whole, (UNOPTIMISED,), some, {EVALUATED: "late: not believed"})
    check = check_outputs([whole], "fp32", reference, MODEL, 1e-4, "ort-cpu")
    assert (check.output_ok, check.agrees_with) == (True, (UNOPTIMISED,))
    assert len(check.references) == references
    wrong = {**whole, "late": np.array([5.0], np.float32)}
    assert not check_outputs([wrong], "fp32", reference, MODEL, 1e-4, "ort-cpu").output_ok


def test_outputs_without_a_value_confirm_nothing_and_say_so() -> None:
    for array in (np.full(3, np.nan, np.float32), np.zeros((0, 4), np.float32)):
        reference = Reference({"x": A}, {"y": array}, (EVALUATED, UNOPTIMISED))
        check = _run_check(array, reference=reference)
        assert (check.output_ok, check.silent) == (True, {"y": "empty"})
        assert [found.code for found in output_diagnostics(check)] == ["outputs_empty"]


def test_bytes_that_are_off_by_two_throughout_are_wrong_and_a_few_are_not() -> None:
    expected: dict[str, np.ndarray] = {"q": np.arange(0, 200, dtype=np.uint8)}
    shifted = {"q": expected["q"] + np.uint8(2)}
    assert not compare(shifted, expected, "onnx", 0.1, steps=True).output_ok
    few = {"q": expected["q"] + np.uint8(2) * (np.arange(200) % 50 == 0).astype(np.uint8)}
    assert compare(few, expected, "onnx", 0.1, steps=True).output_ok


def test_what_a_quantised_graph_makes_of_nan_is_not_wrong() -> None:
    """Of a row of attention in which each key is masked, say; other elements are compared."""
    expected = {"y": np.array([np.nan, 1.0, 2.0], np.float32)}
    for y, is_right in (([0.5, 1.0, 2.0], True), ([0.5, 1.0, 3.0], False)):
        actual = {"y": np.array(y, np.float32)}
        assert compare(actual, expected, "onnx", 0.1, steps=True).output_ok is is_right
        assert not compare(actual, expected, "onnx", 0.1).output_ok
    nothing = {"y": np.full(3, np.nan, np.float32)}
    check = compare({"y": np.ones(3, np.float32)}, nothing, "onnx", 0.1, steps=True)
    assert check.output_ok
    assert check.silent == {"y": "empty"}


OPENVINO, TORCH = "openvino in fp32", "torch"


def judged(
    runtime: str,
    agreeing: tuple[str, ...],
    against: tuple[str, ...],
    *agree: frozenset[str],
    is_integer: bool = False,
) -> Verdict:
    """`agree`: the pairs of those against that agree with each other."""
    names = (*agreeing, *against)
    conflicts = [
        Disagreement(a, b, "y", 1.0)
        for a, b in combinations(names, 2)
        if (a in agreeing) != (b in agreeing) or ({a, b} <= {*against} and {a, b} not in agree)
    ]
    agreements = {name: name in agreeing for name in names}
    return verdict(agreements, conflicts, runtime, is_integer)


RIGHT, WRONG = Verdict(True), Verdict(False)


DISPUTE = Verdict(True, is_disputed=True)


OWN = Verdict(True, only_own=True)


BOTH = Verdict(True, is_disputed=True, only_own=True)


@pytest.mark.parametrize(
    ("runtime", "agreeing", "against", "expected"),
    [
        # An independent reference supports the row, whatever one other says.
        ("ort-cpu", (EVALUATED, UNOPTIMISED), (), RIGHT),
        ("ort-cpu", (EVALUATED,), (UNOPTIMISED,), RIGHT),
        ("ort-cpu", (EVALUATED, UNOPTIMISED), (PACKAGED,), RIGHT),
        ("openvino-cpu", (UNOPTIMISED,), (EVALUATED,), RIGHT),
        # None does: what the makers say decides, and the own reference where it is alone.
        ("ort-cpu", (UNOPTIMISED,), (PACKAGED,), WRONG),
        ("ort-cpu", (UNOPTIMISED,), (TORCH,), WRONG),
        ("torch-cpu", (), (TORCH, UNOPTIMISED), WRONG),
        ("ort-cpu", (), (UNOPTIMISED,), WRONG),
        # One other against it decides nothing.
        ("ort-cpu", (UNOPTIMISED,), (EVALUATED,), BOTH),
        ("ort-cpu", (UNOPTIMISED,), (OPENVINO,), BOTH),
        ("openvino-cpu", (), (EVALUATED,), DISPUTE),
        # The own reference acquits nobody.
        ("ort-cpu", (UNOPTIMISED,), (), OWN),
        ("ort-cuda:1", (UNOPTIMISED,), (), OWN),
        ("ort-cpu@spring", (UNOPTIMISED,), (), OWN),
        ("openvino:GPU.0", (OPENVINO,), (), OWN),
        ("torch-cuda", ("torch in fp64",), (), OWN),
        ("openvino-cpu", (UNOPTIMISED,), (), RIGHT),
        ("fpga:v80", (UNOPTIMISED,), (), RIGHT),
    ],
)
def test_one_reference_for_or_against(
    runtime: str, agreeing: tuple[str, ...], against: tuple[str, ...], expected: Verdict
) -> None:
    assert judged(runtime, agreeing, against) == expected


def test_two_that_agree_convict_unless_an_independent_one_supports() -> None:
    both = frozenset({EVALUATED, OPENVINO})
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED, OPENVINO), both) == WRONG
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED, OPENVINO)) == BOTH
    assert judged("ort-cpu", (PACKAGED,), (EVALUATED, OPENVINO), both) == DISPUTE
    own = frozenset({EVALUATED, UNOPTIMISED})
    assert judged("ort-cpu", (), (EVALUATED, UNOPTIMISED), own) == WRONG


def test_integer_arithmetic_has_one_answer() -> None:
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED,), is_integer=True) == WRONG
    assert judged("ort-cpu", (UNOPTIMISED,), (OPENVINO,), is_integer=True) == BOTH


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ort-ep:OpenVINOExecutionProvider.CPU", {"ONNX Runtime", "OpenVINO"}),
        ("ort-tensorrt:0@spring", {"ONNX Runtime", "TensorRT"}),
        ("tensorrt-rtx", {"TensorRT"}),
        (EVALUATED, {EVALUATED}),
        (PACKAGED, {PACKAGED}),
        ("somebodys-engine", {"somebodys-engine"}),
    ],
)
def test_an_engine_in_whatever_shell_is_one_family(name: str, expected: set[str]) -> None:
    assert families(name) == expected
