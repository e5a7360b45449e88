"""Who may vouch for whom: what shares an engine's kernels can accuse it, and never acquits it."""

from __future__ import annotations

from itertools import combinations

import pytest

from app.workers.verdict import Verdict, families, verdict
from exporters.types import EVALUATED, PACKAGED, UNOPTIMISED, Disagreement

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
DISPUTED = Verdict(True, is_disputed=True)
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
        ("openvino-cpu", (), (EVALUATED,), DISPUTED),
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
    assert judged("ort-cpu", (PACKAGED,), (EVALUATED, OPENVINO), both) == DISPUTED
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
