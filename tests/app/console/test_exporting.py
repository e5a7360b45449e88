"""`--export`: what it writes of runs that are there, and what it refuses beforehand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.run_folder.folder import RunFolder
from tests.app.run_folder.resealed import reseal_manifest
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, damage_line, manifest_of, record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0, 30.0])
        record(folder, OTHER, 0, status="crashed", reason="exit code 3")
    return tmp_path / "run"


def test_a_stored_run_is_exported_and_each_file_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "-f", "csv, json,trace", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    files = [Path(line.removeprefix("wrote ")) for line in lines]
    names = [file.name for file in files]
    tables = ["results.full.csv", "results.csv"]
    assert names == [*tables, "samples.csv", "results.json", f"{CASE.case_id}.0.json.gz"]
    assert all(file.is_file() for file in files)


def test_of_a_run_with_a_damaged_line_the_rest_is_exported_and_the_line_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            for case in (CASE, OTHER):
                record(folder, case, number, [10.0, 20.0, 30.0])
    journal = damage_line(tmp_path / "run", 3)
    assert main(["export", "-f", "csv,json,hdr,trace", str(tmp_path / "run")]) == 1
    *wrote, damage_report = capsys.readouterr().out.splitlines()
    assert all(line.startswith("wrote ") for line in wrote)
    assert f"damaged and left out: journal/{journal.name} line 3 is damaged" in damage_report
    assert "remove that line" in damage_report
    rows = json.loads((tmp_path / "run" / "results.json").read_text())["rows"]
    assert [row["rounds"] for row in rows] == [2, 1]


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_what_json_has_no_form_for_is_null_wherever_it_stands(run: Path, number: str) -> None:
    manifest = run / "manifest.json"
    text = manifest.read_text()
    assert '"load_1min": 0.0' in text
    manifest.write_text(text.replace('"load_1min": 0.0', f'"load_1min": [{{"now": {number}}}]'))
    reseal_manifest(manifest)
    assert main(["export", "-f", "json", str(run)]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    whole = json.loads((run / "results.json").read_text(), parse_constant=refuse)
    assert whole["environment"]["load_1min"] == [{"now": None}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "-f", "cvs"], "--export cvs is not known: did you mean 'csv'"),
        (["export", "-f", ","], "--export names no format"),
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
    assert main(["export", "-f", "hdr", str(run)]) == 2
    assert "pip install 'graphlap[data]'" in capsys.readouterr().err
    assert not (run / "latency.hlog").exists()


def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "-f", "json", str(tmp_path)]) == 2
    assert "is no run folder" in capsys.readouterr().err
