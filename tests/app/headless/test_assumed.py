"""What was assumed of a user's file stands in the answer, on the page and in a column."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
from onnx import parser

from tests.app.headless.batch import rows, run

TEXT = """<ir_version: 9, opset_import: ["" : 17]>
resized (float[batch,1,8,8] x, int64[2] size, float[batch,points,2] at) => (float[] y, float[] z) {
    ends = Constant <value = int64[2] {1, 1}> () all = Concat <axis = 0> (ends, size)
    y = Resize <mode = "nearest"> (x, , , all) z = Relu(at)
}"""
ASSUMED = "size 224 x 224"
ONE_ROUND = ("--runtimes", "ort-cpu", "--preset", "glance", "--rounds", "1")


def test_the_second_line_names_what_was_assumed(tmp_path: Path) -> None:
    path, out = tmp_path / "resized.onnx", tmp_path / "run"
    onnx.save(parser.parse_model(TEXT), path)
    words = ("run", str(path), *ONE_ROUND, "--axis", "points=2")
    code, answer, errors = run(*words, "--out", str(out))
    assert code == 0, errors
    assert ASSUMED in answer.splitlines()[1]
    code, *_ = run("report", str(out), "-o", str(tmp_path / "page.html"))
    assert code == 0
    assert ASSUMED in (tmp_path / "page.html").read_text("utf-8")
    full = (out / "results.full.csv").read_text("utf-8")
    assert f",{ASSUMED}," in full, "the points were given"
    given = ("--input-range", "size=8:8", "--out", str(tmp_path / "given"))
    code, answer, _ = run(*words, *given)
    assert code == 0
    assert "assumed" not in answer


def test_a_row_whose_output_is_empty_is_marked_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    text = """<ir_version: 9, opset_import: ["" : 17]>
    none (float[1,40,4] boxes, float[1,2,40] scores) => (int64[n,3] y) {
        m = Constant <value = int64[1] {5}> () i = Constant <value = float[1] {0.5}> ()
        s = Constant <value = float[1] {1e9}> () y = NonMaxSuppression(boxes, scores, m, i, s)
    }"""
    onnx.save(parser.parse_model(text), path)
    code, answer, errors = run("run", str(path), *ONE_ROUND, "--out", str(tmp_path / "run"))
    assert code == 0, errors
    assert "s! " in answer or "s!\n" in answer, "behind the median"
    (row,) = rows(tmp_path / "run")
    assert "outputs_empty" in row["warning_codes"]


def test_a_pair_that_was_not_fed_the_same_is_marked(tmp_path: Path) -> None:
    filled = "s = Concat <axis = 0> (n, n) f = ConstantOfShape(s) e = ReduceSum <keepdims = 0> (f)"
    for name, nodes in (
        ("old", f"{filled} y = Add(x, e)"),
        ("new", f"m = Identity(n) {filled} y = Add(x, e)"),
        ("other", "y, i = TopK(x, n)"),
    ):
        text = f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[batch,8] x, int64[1] n) => (float[batch,k] y) {{ {nodes} }}"""
        onnx.save(parser.parse_model(text), tmp_path / f"{name}.onnx")
    file, files = (
        tmp_path / "c.json",
        [str(tmp_path / f"{n}.onnx") for n in ("old", "new", "other")],
    )
    words = (*ONE_ROUND[:-1], "3", "--baseline", files[0], "--json", str(file))
    code, out, errors = run("run", *files, *words, "--out", str(tmp_path / "run"))
    assert code == 0, errors
    cases = json.loads(file.read_text("utf-8"))["cases"]
    marked = [case["fed_otherwise"] for case in cases]
    assert sorted(marked, key=len) == [[], [{"input": "n", "first": "128", "second": "8"}]]
    assert "n 128, then 8" in " ".join(out.split())


def test_a_number_of_which_nothing_shows_what_it_does_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "mystery.onnx"
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (float[batch,8] x, int64 mystery) => (float[batch,8] y) {
        f = Cast <to = 1> (mystery) y = Mul(x, f) }"""
    onnx.save(parser.parse_model(text), path)
    code, answer, errors = run("run", str(path), *ONE_ROUND, "--out", str(tmp_path / "run"))
    assert code == 0, errors
    assert "mystery 0..1 (not understood)" in " ".join(answer.split())
    assert "! an output is empty, or an input was not understood" in " ".join(answer.split())
    given = ("--input-range", "mystery=3:3", "--out", str(tmp_path / "given"))
    code, answer, _ = run("run", str(path), *ONE_ROUND, *given)
    assert code == 0
    assert "not understood" not in answer
