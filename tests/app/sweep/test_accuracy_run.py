"""`--accuracy` from the outside: the column filled, resumed, and bad data refused beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.__main__ import main
from tests.app.cli.headless.batch import rows, run
from tests.app.workers.labelled_files import write_arrays, write_echo_graph, write_folder

pytestmark = pytest.mark.usefixtures("brief")

BRIEF = ("--rounds", "1", "--time-limit", "60")
ECHO = ("--headless", "--models", "echo.onnx")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_echo_graph(tmp_path / "echo.onnx")
    write_arrays(tmp_path / "data.npz", 100, wrong=25)
    return tmp_path


def journal(folder: Path, kind: str) -> list[dict[str, object]]:
    lines = [
        json.loads(line)
        for path in sorted((folder / "journal").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    return [line for line in lines if line["kind"] == kind]


def test_each_row_has_the_accuracy_of_its_runtime_and_a_resumed_run_the_one_that_is_missing(
    work: Path,
) -> None:
    """At any batch the same; what a runtime can't take has none and keeps its own reason."""
    options = ("--batch", "1,8", "--runtimes", "ort-cpu,torch-cpu", "--accuracy", "data.npz")
    code, out, errors = run(*ECHO, *options, "--out", "run", *BRIEF)
    assert code == 0 and "75.0 % of 100 images" in errors
    assert "75.0 %" in out
    expected = [
        ("ort-cpu", "1", "0.75"),
        ("ort-cpu", "8", "0.75"),
        ("torch-cpu", "1", ""),
        ("torch-cpu", "8", ""),
    ]
    round_count = len(journal(work / "run", "round"))
    for is_resumed in (False, True):
        if is_resumed:
            (path,) = (work / "run" / "journal").glob("*.jsonl")
            lines = path.read_text("utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if '"accuracy"' not in line), "utf-8")
            assert main(["resume", "run"]) == 0
        columns = ("runtime", "batch_size", "accuracy_top1")
        assert [tuple(row[name] for name in columns) for row in rows(work / "run")] == expected
        assert len(journal(work / "run", "accuracy")) == 1
        assert len(journal(work / "run", "round")) == round_count


def test_what_could_not_be_measured_is_a_warning_of_its_row(work: Path) -> None:
    write_folder(work / "images", {"a": 64})
    options = ("--batch", "1", "--runtimes", "ort-cpu", "--accuracy", "images")
    code = main([*ECHO, *options, "--out", "run", *BRIEF])
    (row,) = rows(work / "run")
    assert (code, row["status"], row["accuracy_top1"]) == (0, "ok", "")
    assert "accuracy_unavailable" in row["warning_codes"]


@pytest.mark.parametrize("data", ["nowhere", "flat", "few"])
def test_bad_data_ends_before_anything_is_written(work: Path, data: str) -> None:
    (work / "flat").mkdir()
    write_folder(work / "few", {"a": 10})
    code, _, errors = run(*ECHO, "--accuracy", data, "--out", "run")
    assert code == 2 and data in errors
    assert not (work / "run").exists()
