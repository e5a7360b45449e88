"""What was assumed of a user's file is told and marked, and doubled after the rounds."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

from app.capabilities.sensitivity import follow_up as sensitivity
from app.cases.jobs import Sensitivity
from app.run_folder.run import Run
from app.runs.reader import read_run
from tests.app.cli.headless.batch import rows, run

HEAD = '<ir_version: 9, opset_import: ["" : 17]>'
RESIZED = """
resized (float[batch,3,64,64] x, int64[2] size, float[batch,points,2] at) => (float[] y, float[] z)
{   ends = Constant <value = int64[2] {1, 3}> () all = Concat <axis = 0> (ends, size)
    y = Resize <mode = "linear"> (x, , , all) z = Relu(at)
}"""
RESHAPED = """
reshaped (float[batch,frames,8] x) => (float[] y)
{ to = Constant <value = int64[3] {1, 50, 8}> () y = Reshape(x, to) }"""
NOTHING = """
none (float[1,40,4] boxes, float[1,2,40] scores) => (int64[n,3] y) {
    m = Constant <value = int64[1] {5}> () i = Constant <value = float[1] {0.5}> ()
    s = Constant <value = float[1] {1e9}> () y = NonMaxSuppression(boxes, scores, m, i, s)
}"""
MYSTERY = """
g (float[batch,8] x, int64 mystery) => (float[batch,8] y)
{ f = Cast <to = 1> (mystery) y = Mul(x, f) }"""
ONE_ROUND = ("--runtimes", "ort-cpu", "--preset", "glance", "--rounds", "1")


@pytest.fixture
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the run is."""
    monkeypatch.setattr(sensitivity, "SHARE", 100.0)


def measured(graph: str, folder: Path, *words: str) -> tuple[str, Run]:
    folder.mkdir(exist_ok=True)
    path = folder / "net.onnx"
    onnx.save(parser.parse_model(HEAD + graph), path)
    code, answer, errors = run("run", str(path), *ONE_ROUND, "--out", str(folder / "run"), *words)
    assert code == 0, errors
    return answer, read_run(folder / "run")


@pytest.mark.usefixtures("time_enough")
def test_what_decides_the_time_is_told_from_what_does_not(tmp_path: Path) -> None:
    answer, finished = measured(RESIZED, tmp_path)
    ((case_id, found),) = finished.result_by_subject(Sensitivity).items()
    size, points = (found.factors[name] for name in ("size", "points"))
    assert size is not None
    assert points is not None
    assert size > 2.0 > points, "four times the pixels"
    assert not found.left_out
    line = next(line for line in answer.splitlines() if line.startswith("latency follows size"))
    assert "points" in line
    _, shown, _ = run("show", str(tmp_path / "run"))
    assert line in shown.splitlines()
    run("report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html"))
    assert "latency follows size" in (tmp_path / "page.html").read_text("utf-8")
    run("export", str(tmp_path / "run"), "--format", "json")
    stored = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))
    assert stored["sensitivity"] == {case_id: {"factors": found.factors, "left_out": 0}}


@pytest.mark.usefixtures("time_enough")
def test_a_fixed_reshape_takes_no_other_size(tmp_path: Path) -> None:
    answer, finished = measured(RESHAPED, tmp_path)
    assert [line.factors for line in finished.result_by_subject(Sensitivity).values()] == [
        {"frames": None}
    ]
    assert "frames takes no other size" in answer


@pytest.mark.parametrize("words", [("--no-sensitivity",), ("--axis", "frames=50")])
@pytest.mark.usefixtures("time_enough")
def test_nothing_is_doubled_unasked_or_where_all_was_given(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert not measured(RESHAPED, tmp_path, *words)[1].result_by_subject(Sensitivity)


def test_a_short_run_has_no_time_for_it_and_a_resumed_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, finished = measured(RESIZED, tmp_path)
    assert not finished.result_by_subject(Sensitivity)
    monkeypatch.setattr(sensitivity, "SHARE", 100.0)
    code, *_ = run("resume", str(tmp_path / "run"))
    assert code == 0
    resumed = read_run(tmp_path / "run")
    assert len(resumed.result_by_subject(Sensitivity)) == 1
    assert resumed.rounds == finished.rounds


def test_what_there_is_no_time_for_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitivity, "SHARE", 1e-6)
    monkeypatch.setattr(sensitivity, "LEAST_S", 0.0)
    (found,) = measured(RESIZED, tmp_path)[1].result_by_subject(Sensitivity).values()
    assert (found.factors, found.left_out, found.transient) == ({}, 2, True)


def test_the_second_line_names_what_was_assumed(tmp_path: Path) -> None:
    points, assumed = ("--axis", "points=2"), "size 224 x 224"
    answer, _ = measured(RESIZED, tmp_path, *points)
    assert assumed in answer.splitlines()[1]
    assert run("report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html"))[0] == 0
    assert assumed in (tmp_path / "page.html").read_text("utf-8")
    full = (tmp_path / "run" / "results.full.csv").read_text("utf-8")
    assert f",{assumed}," in full, "the points were given"
    answer, _ = measured(RESIZED, tmp_path / "given", *points, "--input-range", "size=8:8")
    assert "assumed" not in answer


def test_a_row_whose_output_is_empty_or_whose_input_is_not_understood_is_marked(
    tmp_path: Path,
) -> None:
    answer, _ = measured(NOTHING, tmp_path)
    assert "s! " in answer or "s!\n" in answer, "behind the median"
    (row,) = rows(tmp_path / "run")
    assert "outputs_empty" in row["warning_codes"]
    answer, _ = measured(MYSTERY, tmp_path / "mystery")
    assert "mystery 0..1 (not understood)" in " ".join(answer.split())
    answer, _ = measured(MYSTERY, tmp_path / "given", "--input-range", "mystery=3:3")
    assert "not understood" not in answer
