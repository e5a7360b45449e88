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
    mismatch_text,
    verdict,
    worst,
)
from exporters.types import EVALUATED, PACKAGED, UNOPTIMISED, Disagreement, Reference
from runtimes.session import precision as host_cpu

OPTION = "session.x64quantprecision"


def one(*values: float, dtype: type = np.float32) -> dict[str, np.ndarray]:
    return {"y": np.array(values, dtype)}


WANTED, BYTES, NAN, INF = one(1, -2, 4), np.arange(200, dtype=np.uint8), np.nan, np.inf


@pytest.mark.parametrize(
    ("got", "expected", "is_right", "is_right_quantised"),
    [
        ({}, WANTED, False, False),
        ({"y": WANTED["y"][:, None]}, WANTED, False, False),
        (one(NAN, NAN, NAN), WANTED, False, False),
        (one(1, -2, INF), WANTED, False, False),
        (one(INF, 0, 1), one(INF, 0, 1), True, True),
        (one(NAN, 1), one(NAN, 1), True, True),
        (one(1, NAN), one(NAN, 1), False, False),
        # What a quantised graph makes of NaN, as of a row of attention that is masked.
        (one(0.5, 1, 2), one(NAN, 1, 2), False, True),
        (one(0.5, 1, 3), one(NAN, 1, 2), False, False),
        # Classes and masks must be equal, and integers that are one double are told apart.
        (one(1, 0, 1, 0, dtype=np.int64), one(1, 0, 1, 1, dtype=np.int64), False, False),
        (one(True, False, dtype=np.bool_), one(True, True, dtype=np.bool_), False, False),
        (one(2**53, dtype=np.int64), one(2**53 + 1, dtype=np.int64), False, False),
        # Bytes may be a step off, and a few of them two.
        ({"y": BYTES + np.uint8(1)}, {"y": BYTES}, False, True),
        ({"y": BYTES + np.uint8(2)}, {"y": BYTES}, False, False),
        ({"y": BYTES + 2 * (BYTES % 50 == 0).astype(np.uint8)}, {"y": BYTES}, False, True),
    ],
)
def test_outputs_are_right_or_wrong(
    got: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    is_right: bool,
    is_right_quantised: bool,
) -> None:
    assert compare(got, expected, "onnx", 0.1).output_ok is is_right
    assert compare(got, expected, "onnx", 0.1, steps=True).output_ok is is_right_quantised


def test_unequal_integers_nan_and_outputs_without_a_value_are_told() -> None:
    ones = one(1, 0, 1, 1, dtype=np.int64)
    check = compare(one(1, 0, 1, 0, dtype=np.int64), ones, "onnx", 10.0)
    assert check.unequal == 0.25
    assert "in 25 % of its elements, and integers must be equal" in mismatch_text(check, 1)
    assert compare(one(NAN, 1), one(NAN, 1), "torch", 1e-4).nans == ("y",)
    assert compare(one(1), one(NAN), "onnx", 0.1, steps=True).silent == {"y": "empty"}


def test_error_is_relative_to_the_largest_value() -> None:
    check = compare(one(1.0, -2.0, 4.2), WANTED, "torch", 1e-4)
    assert check.max_abs_error == pytest.approx(0.2, rel=1e-5)
    assert check.max_rel_error == pytest.approx(0.05, rel=1e-5)
    assert not check.output_ok
    assert check.worst_output == "y"


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


A, B = np.array([1.0, 2.0], np.float32), np.array([1.0, 3.0], np.float32)


APART = Disagreement(EVALUATED, UNOPTIMISED, "y", 1 / 3, node="pool", operator="MaxPool")


DISPUTED = Reference(
    {"x": A}, {"y": A}, (PACKAGED, EVALUATED), {UNOPTIMISED: {"y": B}}, disagreements=(APART,)
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


@pytest.mark.parametrize(
    ("outputs", "reference", "agrees_with", "error"),
    [
        ((A,), PACKAGED, (PACKAGED, EVALUATED), 0.0),
        ((B, B), UNOPTIMISED, (UNOPTIMISED,), 0.0),
        ((B + np.float32(0.3),), UNOPTIMISED, (), 0.1),
    ],
)
def test_any_independent_reference_makes_right_and_the_nearest_measures_what_is_wrong(
    outputs: tuple[np.ndarray, ...], reference: str, agrees_with: tuple[str, ...], error: float
) -> None:
    check = _run_check(*outputs)
    assert (check.output_ok, check.reference) == (bool(agrees_with), reference)
    assert check.agrees_with == agrees_with
    assert check.max_rel_error == pytest.approx(error, rel=1e-4)
    assert check.references == (PACKAGED, EVALUATED, UNOPTIMISED)
    assert check.disagreements == (APART,)
    assert len([*reference_diagnostics(check)]) == check.output_ok, "else it is in the reason"
    assert check.output_ok or "every reference" in mismatch_text(check, 1)


def test_lanes_that_agree_with_different_references_are_wrong() -> None:
    """No one function gives both: the engine computes one of them wrongly."""
    check = _run_check(A, B)
    assert (check.output_ok, check.agrees_with) == (False, ())
    assert worst([_run_check(A), check]).agrees_with == ()
    assert worst([_run_check(A), _run_check(A)]).agrees_with == (PACKAGED, EVALUATED)
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
        ("torch-cuda", ("torch in fp64",), (), OWN),
        ("ort-ep:OpenVINOExecutionProvider.CPU", (OPENVINO,), (), OWN),
        ("ort-ep:OpenVINOExecutionProvider.CPU", (UNOPTIMISED,), (), OWN),
        ("ort-tensorrt:0@spring", (UNOPTIMISED,), (), OWN),
        ("openvino-cpu", (UNOPTIMISED,), (), RIGHT),
        ("fpga:v80", (UNOPTIMISED,), (), RIGHT),
    ],
)
def test_one_reference_for_or_against(
    runtime: str, agreeing: tuple[str, ...], against: tuple[str, ...], expected: Verdict
) -> None:
    assert judged(runtime, agreeing, against) == expected


def test_two_that_agree_convict_unless_an_independent_one_supports() -> None:
    """And integer arithmetic has one answer."""
    both = frozenset({EVALUATED, OPENVINO})
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED, OPENVINO), both) == WRONG
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED, OPENVINO)) == BOTH
    assert judged("ort-cpu", (PACKAGED,), (EVALUATED, OPENVINO), both) == DISPUTE
    own = frozenset({EVALUATED, UNOPTIMISED})
    assert judged("ort-cpu", (), (EVALUATED, UNOPTIMISED), own) == WRONG
    assert judged("ort-cpu", (UNOPTIMISED,), (EVALUATED,), is_integer=True) == WRONG
    assert judged("ort-cpu", (UNOPTIMISED,), (OPENVINO,), is_integer=True) == BOTH
