"""Comparisons at the end of a run: at most 60 lines, and gates of several engine versions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.case import Case
from app.columns.rows import Rows
from app.console.answer.document import run_document
from app.console.answer.summary import run_result
from app.console.run_comparison import Comparer
from app.present.terminal import as_lines
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record
from tests.benchmarks.stored_runs import stored_run
from tests.golden.screens import printed


def test_verdicts_stand_under_the_table_and_break_no_line(tmp_path: Path) -> None:
    cases = [
        Case("/nets/a_graph_with_quite_a_long_name.onnx", runtime, axes={"batch": batch})
        for batch in (1, 64)
        for runtime in ("ort-cpu", "openvino-cpu")
    ]
    manifest = manifest_of(cases, 4)
    manifest = replace(manifest, plan={**manifest.plan, "baseline": "ort-cpu"})
    with RunFolder.create(tmp_path / "run", manifest) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            slower = 1.3 if case.runtime == "openvino-cpu" else 1.0
            for number in range(4):
                record(folder, case, number, [slower * (100.0 + number)] * 600)
    run = read_run(tmp_path / "run")
    results = Rows().measured(run)
    comparison = Comparer().outcome_of(run, results)
    assert comparison is not None and comparison.code == 0, "nobody asked to fail"
    blocks = run_document(run_result(run, results, comparison), 80)
    # A command with a path is never broken.
    lines = [line for line in as_lines(blocks, 80) if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    words = " ".join(" ".join(lines).split())
    assert "against ort-cpu, round by round" in words
    assert sum("p50" in line and "1.300x" in line and "slower" in line for line in lines) == 2


CASES = 60


MOST_LINES = 60


def test_a_long_comparison_is_shortened_and_json_has_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    runs = [stored_run(tmp_path / name, CASES, runs=120, seed=n) for n, name in enumerate("ab")]
    first, second = map(str, runs)
    output = printed("compare", first, second, "--json", str(tmp_path / "c.json"), columns=80)
    lines = output.splitlines()
    assert len(lines) <= MOST_LINES
    document = json.loads((tmp_path / "c.json").read_text())
    assert len(document["cases"]) == CASES
    verdicts = sum(document["verdict_counts"].values())
    row_count = sum(bool(re.search(r"\d+\.\d{3}x", line)) for line in lines)
    (left_out,) = re.findall(r"([\d,]+) more verdicts", output)
    assert row_count + int(left_out.replace(",", "")) == verdicts
    csv_text = printed("compare", first, second, "-f", "csv", columns=80)
    assert sum(",p50," in line for line in csv_text.splitlines()) == CASES


def test_a_gate_over_many_cases_is_as_short(tmp_path: Path) -> None:
    runs = [stored_run(tmp_path / name, CASES, runs=120, seed=n) for n, name in enumerate("ab")]
    output = printed("compare", *map(str, runs), "--fail-on", "undecided", columns=80)
    assert "--fail-on undecided can't pass" in output
    assert len(output.splitlines()) <= MOST_LINES


ROUNDS = 8


def saved(path: Path, releases: tuple[str, ...]) -> Path:
    manifest = manifest_of((CASE,), ROUNDS)
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(ROUNDS):
            release = releases[number % len(releases)]
            record(folder, CASE, number, [100.0 + number % 2] * 600, runtime_version=release)
    return path


@pytest.mark.parametrize(
    ("releases", "more", "expected"),
    [
        (("1.30.0",), (), 0),
        (("1.30.0", "1.31.0"), (), 1),
        (("1.30.0", "1.31.0"), ("--allow-mixed",), 0),
    ],
)
def test_rounds_of_two_releases_pass_no_gate_unasked(
    tmp_path: Path, releases: tuple[str, ...], more: tuple[str, ...], expected: int
) -> None:
    first = saved(tmp_path / "first", ("1.30.0",))
    second = saved(tmp_path / "second", releases)
    command = ["compare", str(first), str(second), "--fail-on", "slower", *more]
    assert main(command) == expected
    assert main(["compare", str(first), str(second)]) == 0, "without a gate it is a warning"
