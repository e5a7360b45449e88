"""`--accuracy` from the outside: the column filled, resumed, and bad data refused beforehand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from app.__main__ import main
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


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.full.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def journal(folder: Path, kind: str) -> list[dict[str, object]]:
    lines = [
        json.loads(line)
        for path in sorted((folder / "journal").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    return [line for line in lines if line["kind"] == kind]


def test_each_row_has_the_accuracy_of_its_runtime(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At any batch the same; what a runtime can't take has none and keeps its own reason."""
    options = ("--batch", "1,8", "--runtimes", "ort-cpu,torch-cpu", "--accuracy", "data.npz")
    code = main([*ECHO, *options, "--out", "run", *BRIEF])
    assert code == 0
    actual = [(r["runtime"], r["batch_size"], r["accuracy_top1"]) for r in rows(work / "run")]
    assert actual == [
        ("ort-cpu", "1", "0.75"),
        ("ort-cpu", "8", "0.75"),
        ("torch-cpu", "1", ""),
        ("torch-cpu", "8", ""),
    ]
    assert len(journal(work / "run", "accuracy")) == 1
    streams = capsys.readouterr()
    assert "75.0 % of 100 images" in streams.err
    assert "75.0 %" in streams.out


def test_what_could_not_be_measured_is_a_warning_of_its_row(work: Path) -> None:
    write_folder(work / "images", {"a": 64})
    options = ("--batch", "1", "--runtimes", "ort-cpu", "--accuracy", "images")
    code = main([*ECHO, *options, "--out", "run", *BRIEF])
    (row,) = rows(work / "run")
    assert (code, row["status"], row["accuracy_top1"]) == (0, "ok", "")
    assert "accuracy_unavailable" in row["warning_codes"]


def test_a_resumed_run_measures_the_accuracy_that_is_missing(work: Path) -> None:
    options = ("--batch", "1", "--runtimes", "ort-cpu", "--accuracy", "data.npz")
    main([*ECHO, *options, "--out", "run", *BRIEF])
    (path,) = (work / "run" / "journal").glob("*.jsonl")
    lines = [line for line in path.read_text("utf-8").splitlines() if '"accuracy"' not in line]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["resume", "run"]) == 0
    assert rows(work / "run")[0]["accuracy_top1"] == "0.75"
    assert len(journal(work / "run", "round")) == 1


@pytest.mark.parametrize("data", ["nowhere", "flat", "few"])
def test_bad_data_ends_before_anything_is_written(
    work: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "flat").mkdir()
    write_folder(work / "few", {"a": 10})
    code = main([*ECHO, "--accuracy", data, "--out", "run"])
    assert code == 2
    assert data in capsys.readouterr().err
    assert not (work / "run").exists()
