"""A baseline in the same run: its verdicts, the exit code of a job, and that a resume keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.app.headless.batch import FAKE, kill, launch, rows, run, wait_for_rounds
from tests.app.run_folder.resealed import reseal_journal

MEASURED = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "4")
TWICE = ("--option", "fake.latency_us=200,400", "--baseline", "fake.latency_us=200")


@pytest.mark.rare
def test_a_resumed_run_keeps_its_baseline_and_what_is_slower_fails_the_job_that_asked_for_it(
    work: Path,
) -> None:
    process = launch(*MEASURED, *TWICE, "--out", "run")
    wait_for_rounds(work / "run", 2, process)
    kill(process, work / "run")
    arguments = ("--fail-on", "slower", "--json", "v.json", "--junit", "v.xml")
    code, out, _ = run("resume", "run", *arguments)
    assert code == 3
    assert "against fake.latency_us=200, round by round" in out
    assert any("  p50  " in line and line.endswith("slower") for line in out.splitlines())
    base, slow = rows(work / "run")
    assert slow["baseline_case_id"] == base["case_id"] and not base["baseline_case_id"]
    assert slow["baseline_p50_verdict"] == "slower"
    low, ratio, high = (
        float(slow[f"baseline_p50_{name}"]) for name in ("ci_low", "ratio", "ci_high")
    )
    assert low < ratio < high and 1.5 < ratio < 2.5
    verdicts = json.loads((work / "v.json").read_text())
    assert verdicts["in_turn"] is True and verdicts["counts"]["slower"] == 1
    suite = ElementTree.parse(work / "v.xml").getroot()
    assert suite.attrib["failures"] >= "1"


def test_markdown_is_all_that_is_printed_and_no_failure_without_being_asked(work: Path) -> None:
    code, out, _ = run(*MEASURED, *TWICE, "--markdown", "--threshold", "300%", "--out", "wrong")
    assert code == 2, "a band of 300 % is none"
    few = ("--rounds", "3")
    code, out, _ = run(*MEASURED, *few, *TWICE, "--markdown", "--threshold", "90%", "--out", "run")
    assert code == 0
    assert out.startswith(r"### 1 case against fake.latency\_us=200: ")
    assert "a change within 90% does not count" in out


def test_a_run_without_a_baseline_has_no_verdicts(work: Path) -> None:
    code, out, _ = run(*MEASURED, "--rounds", "1", "--out", "run")
    assert code == 0 and "against" not in out
    (row,) = rows(work / "run")
    assert not any(value for name, value in row.items() if name.startswith("baseline"))


def test_a_baseline_that_was_not_measured_is_told_and_fails_by_its_own_row(work: Path) -> None:
    code, out, _ = run(
        *MEASURED, "--option", "fake.fail=none,unsupported", "--baseline", "fake.fail=unsupported",
        "--rounds", "1", "--out", "run",
    )  # fmt: skip
    assert code == 0, "unsupported fails with --strict, or where a job fails on what is slower"
    assert "not compared: add · fake: its baseline add · fake · fail=unsupported is" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fail-on", "slower"], "--fail-on belongs to a comparison, and none is asked for"),
        (["--baseline", "ort-cpu"], "the baseline 'ort-cpu' is no case of this plan"),
        ([*TWICE, "--json", "no/v.json"], "--json no/v.json: its folder is not there"),
    ],
)
def test_what_can_not_be_compared_is_one_sentence_and_writes_nothing(
    work: Path, arguments: list[str], sentence: str
) -> None:
    code, _, errors = run(*MEASURED, *arguments, "--out", "run")
    assert code == 2 and sentence in errors and errors.count("\n") == 1
    assert not (work / "run").exists()


@pytest.mark.rare
def test_a_stored_run_is_compared_with_when_the_new_one_ends(work: Path) -> None:
    latency_option = ("--option", "fake.latency_us=200")
    assert run(*MEASURED, *latency_option, "--out", "before")[0] == 0
    gate_options = ("--against", "before", "--fail-on", "slower")
    code, out, _ = run(*MEASURED, *latency_option, *gate_options, "--out", "same")
    assert code == 0
    assert "against before" in out and "undecided" in out
    other = ("--option", "fake.latency_us=90", "--rounds", "1")
    code, out, errors = run(*MEASURED, *gate_options, *other, "--out", "other")
    assert code == 2, "a gate that compares nothing measures nothing"
    assert "before and this plan have no case in common" in errors
    assert not (work / "other").exists()
    (journal,) = (work / "before" / "journal").iterdir()
    writer, *rounds = journal.read_text().splitlines()
    header = json.loads(writer)
    header["environment"] |= {"host": "elsewhere", "cores_logical": 96}
    journal.write_text("\n".join([json.dumps(header), *rounds, ""]))
    reseal_journal(journal)
    for name in ("live.json", "results.csv"):
        (work / "before" / name).unlink()
    code, out, _ = run("resume", "same", *gate_options)
    assert code == 0
    assert (
        "before was measured on another machine or with other versions: host elsewhere, now " in out
    )
    assert "cores_logical 96, now " in out
