"""A file of shapes becomes cases of one session each, or is refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.plan.axis_sizes import read_shapes
from app.plan.expand import expand
from app.plan.plan import parse_plan
from tests.app.sweep.sweeps import write_add_graph


def cases(path: Path, grid: dict[str, Any] | None = None, **plan: Any) -> tuple[Case, ...]:
    whole = {"models": ["mlp"], "runtimes": ["fake"], "conditions": [f"shapes:{path}"]}
    return expand(parse_plan({**plan, "sweeps": [{**whole, **(grid or {})}]}, "the plan"))


@pytest.fixture
def mix(tmp_path: Path) -> Path:
    path = tmp_path / "mix.csv"
    path.write_text("batch,weight\n1,10\n8,2.5\n\n1,2\n")
    return path


def test_equal_lines_are_one_shape_that_comes_more_often(mix: Path) -> None:
    shapes = read_shapes(str(mix))
    assert shapes.points == ({"batch": 1}, {"batch": 8})
    assert shapes.weights == (12.0, 2.5)


def test_a_log_of_requests_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("﻿ sequence , batch\n16,1\n128,1\n16,1\n16, 1\n")
    shapes = read_shapes(str(path))
    assert shapes.axes == ("sequence", "batch")
    assert dict(zip(shapes.sizes, shapes.weights, strict=True)) == {(16, 1): 3.0, (128, 1): 1.0}


def test_the_sizes_are_the_files_and_those_of_the_plan_are_other_conditions(mix: Path) -> None:
    grid = {"conditions": ["none", f"shapes:{mix}"], "batch_size": [4, 8]}
    *fixed_cases, shaped_case = cases(mix, grid)
    assert [case.axes for case in fixed_cases] == [{"batch": 4}, {"batch": 8}]
    assert shaped_case.axes == {}
    assert shaped_case.condition.points == ({"batch": 1}, {"batch": 8})


def test_a_case_is_known_by_what_is_in_the_file(mix: Path) -> None:
    (case,) = cases(mix)
    copy_path = mix.with_name("other.csv")
    copy_path.write_text(mix.read_text().replace("\n\n", "\n"))
    assert cases(copy_path)[0].case_id == case.case_id
    copy_path.write_text("batch,weight\n1,12\n8,2\n")
    assert cases(copy_path)[0].case_id != case.case_id


def test_a_file_that_leaves_its_batch_open_needs_no_other_size(mix: Path, tmp_path: Path) -> None:
    graph = write_add_graph(tmp_path / "open.onnx", ("batch", 3))
    (case,) = cases(mix, {"models": [str(graph)]})
    assert case.axes == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: begin it with a line such as batch,sequence"),
        ("weight\n1\n", "names no axes, or one twice"),
        ("batch,batch\n1,2\n", "names no axes, or one twice"),
        ("batch\n1\n", "has 1 different shapes, and a session is given 2 to 64: measure one"),
        ("batch\n", "has 0 different shapes"),
        ("batch\n" + "\n".join(map(str, range(1, 66))), "has 65 different shapes, and a session"),
        ("batch\n1\n2,3\n", "line 3 of .* has 2 values for 1 columns: give each column one"),
        ("batch\n1\n0\n", "line 3 of .* has '0' as the size of 'batch': give an integer"),
        ("batch\n1\n2.5\n", "line 3 of .* has '2.5' as the size of 'batch'"),
        ("batch\n1\n4294967296\n", "has '4294967296' as the size of 'batch'"),
        ("batch,weight\n1,1\n8,-1\n", "line 3 of .* has the weight '-1': give a number above 0"),
        ("batch,weight\n1,1\n8,nan\n", "has the weight 'nan'"),
        ("sequence\n1\n8\n", "sizes of 'sequence', and mlp has no such axis: .*batch"),
    ],
)
def test_a_file_that_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(PlanError, match=told):
        cases(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"the shapes in .* can't be read \(No such file"):
        cases(tmp_path / "none.csv")
    (tmp_path / "raw.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlanError, match=r"can't be read \(it is no text\): give a CSV"):
        cases(tmp_path / "raw.csv")


@pytest.mark.parametrize(
    ("grid", "plan", "told"),
    [
        ({"batch_size": [4]}, {}, "gives 'batch' its sizes, and so does the plan: leave"),
        ({"axes": {"batch": [4]}}, {}, "gives 'batch' its sizes, and so does the plan: leave"),
        ({"scenarios": ["rate:200/s"]}, {}, "one at a time, and rate has no pauses"),
        ({"scenarios": ["offline"]}, {}, "one at a time, and offline has no pauses"),
        (
            {"scenarios": ["rate:200/s"], "batcher": ["max=8,wait=2ms"]},
            {},
            "a batcher makes batches by itself",
        ),
    ],
)
def test_what_goes_with_one_shape_alone_is_refused(
    mix: Path, grid: dict[str, Any], plan: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        cases(mix, grid, **plan)
