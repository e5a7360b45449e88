"""`--aa N`: a run that compares each case with itself, its files, its resume, what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, kill, launch, recorded, run, wait_for_rounds

ASKED = ("--headless", "--models", "add.onnx", *FAKE, "--aa", "2")


@pytest.mark.rare
def test_a_killed_run_of_comparisons_goes_on_and_tells_wrong_verdicts(work: Path) -> None:
    process = launch(*ASKED, "--rounds", "3", "--out", "run")
    wait_for_rounds(work / "run", 3, process)
    kill(process, work / "run")
    code, out, _ = run("resume", "run", "--json", "aa.json")
    assert code == 0
    assert recorded(work / "run") == 2 * 2 * 3
    assert "each case with itself, 3 rounds a side" in out
    assert "would find a change of " in out
    with (work / "run" / "aa.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["comparisons"] for row in rows} == {"2"} and {row["rounds"] for row in rows} == {
        "3"
    }
    document = json.loads((work / "aa.json").read_text())
    assert document["format"] == "graphlap-aa" and document["together"][-1]["percentile"] == "all"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rounds", "2"], "give --rounds 3 or more"),
        (["--rounds", "3", "--baseline", "fake"], "--aa cannot be used with --baseline"),
        (["--rounds", "3", "--against", "."], "give one of them"),
        (["--rounds", "3", "--aa", "0"], "--aa 0 is not an integer of at least 1"),
    ],
)
def test_what_contradicts_it_is_one_sentence_and_writes_nothing(
    work: Path, arguments: list[str], sentence: str
) -> None:
    code, _, errors = run(*ASKED, *arguments, "--out", "run")
    assert code == 2 and sentence in errors and errors.count("\n") == 1
    assert not (work / "run").exists()
