"""`--export`: what it writes of runs that are there, and what it refuses beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.results.folder import RunFolder
from tests.app.results.runs import CASE, OTHER, manifest_of, record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0, 30.0])
        record(folder, OTHER, 0, status="crashed", reason="exit code 3")
    return tmp_path / "run"


def test_a_stored_run_is_exported_and_each_file_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--export", "csv, json,trace", str(run)]) == 0
    told = capsys.readouterr().out.splitlines()
    files = [Path(line.removeprefix("wrote ")) for line in told]
    names = [file.name for file in files]
    assert names == ["results.csv", "samples.csv", "results.json", f"{CASE.case_id}.0.json.gz"]
    assert all(file.is_file() for file in files)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--export", "cvs"], "--export cvs is not known: did you mean 'csv'"),
        (["--export", ","], "--export names no format"),
    ],
)
def test_a_format_that_is_none_is_refused(
    arguments: list[str], said: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, str(run)]) == 2
    assert said in capsys.readouterr().err


def test_a_format_whose_package_is_missing_names_the_extra(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "hdrh", None)
    assert main(["--export", "hdr", str(run)]) == 2
    assert "pip install 'graphlap[data]'" in capsys.readouterr().err
    assert not (run / "latency.hlog").exists()


def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--export", "json", str(tmp_path)]) == 2
    assert "is no run folder" in capsys.readouterr().err
