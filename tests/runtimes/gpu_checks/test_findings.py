"""The checks for a GPU over stand-ins: each finds its defect, and the command and page tell it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.app.cli.headless.batch import lines_of
from tests.checkout import ROOT
from tests.gpu.checks import CHECKS, Task, tasks
from tests.gpu.models import Models
from tests.gpu.processes import MOST_ENDS
from tests.gpu.results import (
    BEGIN,
    COLUMNS,
    EMPTY,
    END,
    FILE_NAME,
    MACHINE_FILE,
    PAGE,
    RESULTS,
    main,
    written,
)
from tests.gpu.stand_in import STAND_IN_SIZES, STAND_INS, StandInDevice, StandInRuntime
from tests.gpu.subject import Finding, Subject
from tests.processes import Ended, ended

FOUND_BY = {
    "early-return": {"run has waited"},
    "impossible-speed": {"run is possible", "memory bandwidth"},
    "short-events": {"host clock and events"},
    "always-tf32": {"precision", "run is possible"},
    "unstated-tf32": {"precision"},
    "unwritten-outputs": {"outputs after poisoning"},
    "frozen-inputs": {"replays read new inputs"},
    "free-copies": {"copies counted", "run is possible"},
    "hidden-copies": {"copies counted"},
    "mixed-threads": {"threads"},
    "unnamed-memory-error": {"out of memory"},
    "broken-after-memory-error": {"out of memory"},
    "spin-only": {"sync"},
    "blocking-queue": {"runs ahead"},
    "uneven-sessions": {"A/A"},
    "double-energy": {"energy"},
    "slow-torch": {"torch.utils.benchmark"},
}
"""Which checks must fail of each stand-in; others may, for what follows from the same defect."""
WITHOUT_VERDICT = {"correct", "missing", "error", "crash", "hang"}
"""Stand-ins that are for the command."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("models"), STAND_IN_SIZES)


def findings(defect: str, models: Models, chosen_tasks: list[Task], folder: Path) -> list[Finding]:
    results = []
    for task in chosen_tasks:
        device = StandInDevice(defect)  # as in a process of its own
        subject = Subject(StandInRuntime(device), device, models, str(folder))
        try:
            results.append(task.check.measure(subject, task.options))
        finally:
            subject.close()
    return results


def test_every_defect_has_a_check() -> None:
    assert FOUND_BY.keys() | WITHOUT_VERDICT == STAND_INS.keys()
    assert set().union(*FOUND_BY.values()) == {check.name for check in CHECKS}


@pytest.mark.parametrize("defect", FOUND_BY)
def test_a_defect_is_found(defect: str, models: Models, tmp_path: Path) -> None:
    for name in FOUND_BY[defect]:
        chosen_tasks = [task for task in tasks("torch-cuda") if task.check.name == name]
        results = findings(defect, models, chosen_tasks, tmp_path)
        assert not all(finding.passed for finding in results), name


RUNTIME = "ort-cuda"
ALL = len(tasks(RUNTIME)) + 1
"""With the check that the runtime starts."""


def run(folder: Path, stand_in: str, *arguments: str) -> Ended:
    command = [sys.executable, "-m", "tests.gpu", RUNTIME, "--out", str(folder)]
    return ended(*command, "--stand-in", stand_in, *arguments, cwd=ROOT, timeout=120)


def lines(folder: Path) -> list[dict[str, str]]:
    return lines_of(folder / FILE_NAME)


def verdicts(folder: Path) -> Counter[str]:
    return Counter(line["verdict"] for line in lines(folder))


def test_a_correct_runtime_passes_and_is_not_checked_again(tmp_path: Path) -> None:
    process = run(tmp_path, "correct")
    assert process.returncode == 0, process.stdout + process.stderr
    counts = verdicts(tmp_path)
    assert counts == {"pass": ALL}
    assert len(process.stdout.splitlines()) == ALL + 1
    written_lines = (tmp_path / FILE_NAME).read_text("utf-8").splitlines(keepends=True)
    # As after a kill before the last check was written.
    (tmp_path / FILE_NAME).write_text("".join(written_lines[:-1]), "utf-8")
    again = run(tmp_path, "correct")
    assert again.returncode == 0, again.stdout + again.stderr
    assert verdicts(tmp_path) == counts
    assert len(again.stdout.splitlines()) == 2


def test_a_missing_runtime_neither_passes_nor_fails(tmp_path: Path) -> None:
    assert run(tmp_path, "missing").returncode == 3
    assert verdicts(tmp_path) == {"not run": ALL}


@pytest.mark.parametrize(
    ("stand_in", "told"),
    [
        pytest.param("error", "CUDA failure 700", marks=pytest.mark.rare),
        ("crash", "ended by SIGSEGV"),
        pytest.param("hang", "no answer in", marks=pytest.mark.rare),
    ],
)
def test_what_ends_a_process_fails_one_check_at_a_time(
    stand_in: str, told: str, tmp_path: Path
) -> None:
    """A new process makes the next check, until too many in a row have ended theirs."""
    limit = ("--limit", "0.3") if stand_in == "hang" else ()
    assert run(tmp_path, stand_in, *limit).returncode == 1
    assert verdicts(tmp_path) == {"pass": 1, "fail": MOST_ENDS, "not run": ALL - MOST_ENDS - 1}
    failures = [line["got"] for line in lines(tmp_path) if line["verdict"] == "fail"]
    assert all(told in text for text in failures)


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


def test_the_page_is_that_of_the_results() -> None:
    text = PAGE.read_text("utf-8")
    assert written(text, RESULTS) == text


def test_results_of_a_stand_in_are_refused(tmp_path: Path) -> None:
    page, run_folder = tmp_path / "page.md", tmp_path / "results" / "h100"
    run_folder.mkdir(parents=True)
    (run_folder / MACHINE_FILE).write_text('{"stand_in": "correct"}', "utf-8")
    page.write_text(f"before\n{BEGIN}\n{EMPTY}\n{END}\nafter\n", "utf-8")
    with pytest.raises(SystemExit):
        main([str(page), str(tmp_path / "results")])
    assert EMPTY in page.read_text("utf-8")
