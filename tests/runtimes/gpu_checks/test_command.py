"""`python -m tests.gpu` over the host stand-ins: processes, limits, verdicts and the file."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.gpu.checks import tasks
from tests.gpu.parent import MOST_ENDS
from tests.gpu.record import COLUMNS, FILE_NAME

RUNTIME = "ort-cuda"
ALL = len(tasks(RUNTIME)) + 1
"""With the check that the runtime starts."""


def run(folder: Path, stand_in: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.gpu", RUNTIME, "--out", str(folder)]
    return subprocess.run(
        [*command, "--stand-in", stand_in, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def lines(folder: Path) -> list[dict[str, str]]:
    with (folder / FILE_NAME).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def verdicts(folder: Path) -> Counter[str]:
    return Counter(line["verdict"] for line in lines(folder))


def test_a_correct_runtime_passes_and_is_not_checked_again(tmp_path: Path) -> None:
    process = run(tmp_path, "correct")
    assert process.returncode == 0, process.stdout + process.stderr
    # The engine's own benchmark is in no wheel, so where it is not installed that is not run.
    counts = verdicts(tmp_path)
    assert counts["fail"] == 0 and counts["pass"] >= ALL - 1
    assert len(process.stdout.splitlines()) == ALL + 1
    written_text = (tmp_path / FILE_NAME).read_text("utf-8")
    # A kill while the last line was written leaves a part of it.
    (tmp_path / FILE_NAME).write_text(f"{written_text[:-20]}", "utf-8")
    again = run(tmp_path, "correct")
    assert again.returncode == 0, again.stdout + again.stderr
    assert verdicts(tmp_path) == counts
    assert len(again.stdout.splitlines()) <= 3


def test_a_missing_runtime_neither_passes_nor_fails(tmp_path: Path) -> None:
    assert run(tmp_path, "missing").returncode == 3
    assert verdicts(tmp_path) == {"not run": ALL}


@pytest.mark.parametrize("stand_in", ["crash", pytest.param("hang", marks=pytest.mark.rare)])
def test_what_ends_a_process_fails_one_check_at_a_time(stand_in: str, tmp_path: Path) -> None:
    """A new process makes the next check, until too many in a row have ended theirs."""
    assert run(tmp_path, stand_in, "--limit", "0.3").returncode == 1
    assert verdicts(tmp_path) == {"pass": 1, "fail": MOST_ENDS, "not run": ALL - MOST_ENDS - 1}


def test_an_error_is_reported_by_the_check_that_met_it(tmp_path: Path) -> None:
    """The process ends after it, which is no failure of the check that comes next."""
    run(tmp_path, "error")
    failed_ends = [line["got"] for line in lines(tmp_path) if line["verdict"] == "fail"]
    assert len(failed_ends) == MOST_ENDS and all(
        "CUDA failure 700" in end_text for end_text in failed_ends
    )


@pytest.mark.rare
def test_what_the_time_for_all_cuts_off_is_not_run(tmp_path: Path) -> None:
    run(tmp_path, "hang", "--minutes", "0.12")
    counts = verdicts(tmp_path)
    assert counts["fail"] == 0 and counts["not run"] >= ALL - 1 and counts.total() == ALL


def test_a_folder_of_another_machine_is_refused_and_kept(tmp_path: Path) -> None:
    machine = {"python": "3.0", "stand_in": "correct", "device": "a card", "uuid": ""}
    (tmp_path / "machine.json").write_text(json.dumps(machine), "utf-8")
    (tmp_path / FILE_NAME).write_text(",".join(COLUMNS) + "\n", "utf-8")
    process = run(tmp_path, "correct")
    assert process.returncode == 2
    assert "a card" in process.stderr
    assert lines(tmp_path) == []
