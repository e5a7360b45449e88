"""Many cases as one text: short where they are a grid, and never more than there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.cases.case import Case
from app.formatting.case_labels import CaseSet

BASE = Case("/nets/bert.onnx", "ort-cpu")
GRID = [
    replace(BASE, runtime=runtime, axes={"batch": batch}, threads=threads)
    for runtime in ("ort-cpu", "torch-cpu")
    for batch in (1, 8)
    for threads in (1, 2)
]
OTHER = [Case("/nets/gpt.onnx", name) for name in ("ort-cpu", "torch-cpu", "openvino-cpu")]


def cases_text(some: Sequence[Case], all_cases: Sequence[Case]) -> str:
    return CaseSet(all_cases).text([case.case_id for case in some])


def test_a_grid_is_told_by_the_values_of_its_axes() -> None:
    assert cases_text(GRID, [*GRID, *OTHER]) == (
        "8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 1, 2)"
    )


def test_what_all_cases_of_a_run_share_is_not_repeated() -> None:
    one_runtime = GRID[:4]
    assert cases_text(one_runtime, GRID) == "4 cases (ort-cpu; batch 1, 8; threads 1, 2)"


def test_one_case_goes_by_its_label_and_all_cases_by_their_number() -> None:
    assert cases_text(GRID[:1], GRID) == "bert · ort-cpu · 1 thread · batch 1"
    assert cases_text(GRID, GRID) == "all 8 cases"


def test_nearly_all_cases_are_told_by_those_that_are_not() -> None:
    assert cases_text(GRID[1:], GRID) == "all 8 cases but bert · ort-cpu · 1 thread · batch 1"


def test_cases_that_are_no_grid_do_not_look_like_one() -> None:
    ends = [GRID[0], GRID[-1]]
    assert cases_text(ends, GRID) == (
        "2 cases (ort-cpu; batch 1; threads 1 | torch-cpu; batch 8; threads 2)"
    )


def test_options_of_one_runtime_are_told_beside_another_that_has_none() -> None:
    levels = [replace(BASE, options={"graph_optimization": level}) for level in ("off", "basic")]
    cases = [*levels, replace(BASE, runtime="torch-cpu"), *OTHER]
    assert cases_text(levels, cases) == (
        "2 cases (bert.onnx; ort-cpu; graph_optimization off, basic)"
    )


def test_a_long_list_ends_with_how_many_more_there_are() -> None:
    cases = [replace(BASE, axes={"batch": size}) for size in range(1, 21)]
    assert cases_text(cases[:10], cases) == "10 cases (batch 1, 2, 3, 4, 5, 6 and 4 more)"
