"""`--resume` and what comes after the rounds: what circumstances made fail is tried again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.jobs import SCOUT, AccuracyResult, ColdStart
from app.run_folder.journal import Operators
from app.run_folder.ledger import Ledger
from app.run_folder.run import Run
from app.runs.reader import read_run
from tests.app.headless.batch import rows, run
from tests.app.run_folder.resealed import reseal_journal
from tests.app.workers.labelled_files import write_arrays, write_echo_graph

COLD_STARTS = 2
ASKED = (
    *("--headless", "--models", "echo.onnx", "--batch", "1", "--runtimes", "ort-cpu"),
    *("--rounds", "1", "--op-times", "--cold-start", str(COLD_STARTS)),
    *("--accuracy", "data.npz", "--time-limit", "60", "--memory-limit", "4GiB"),
)
KINDS = ("operators", "accuracy", "cold_start")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that has all of them."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        write_echo_graph(folder / "echo.onnx")
        write_arrays(folder / "data.npz", 100, wrong=25)
        assert main([*ASKED, "--out", "run"]) == 0
        yield folder / "run"


@pytest.fixture
def measured(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def fail_follow_ups(folder: Path, *, transient: bool) -> None:
    """Make each follow-up of the journal one that failed; of the cold starts the scout alone."""
    (journal,) = (folder / "journal").iterdir()
    lines = []
    for text in journal.read_text("utf-8").splitlines():
        line = json.loads(text)
        if line["kind"] == "cold_start" and line["process"] > 0:
            continue
        if line["kind"] in KINDS:
            line |= {"reason": "it was killed", "transient": transient}
            empty_values = {
                "process": SCOUT,
                "phases_ms": {},
                "top1": None,
                "file": "",
                "total_us": 0.0,
            }
            line |= {name: value for name, value in empty_values.items() if name in line}
        lines.append(json.dumps(line))
    journal.write_text("\n".join(lines) + "\n", "utf-8")
    reseal_journal(journal)


def reasons(run: Run) -> list[str]:
    return [line.reason for line in follow_ups(run)]


def follow_ups(run: Run) -> list[Operators | AccuracyResult | ColdStart]:
    cold = [start for case_starts in run.cold_starts.values() for start in case_starts.values()]
    return [*run.operators.values(), *run.accuracies.values(), *cold]


def test_what_circumstances_made_fail_is_tried_again(measured: Path) -> None:
    run_before = read_run(measured)
    (row,) = rows(measured)
    fail_follow_ups(measured, transient=True)
    failed_run = read_run(measured)
    assert reasons(failed_run) == ["it was killed"] * 3
    assert run("resume", str(measured))[0] == 0
    run_after = read_run(measured)
    assert not any(reasons(run_after))
    assert run_after.accuracies == run_before.accuracies
    assert {s: set(k) for s, k in run_after.cold_starts.items()} == {
        s: set(range(COLD_STARTS)) for s in run_before.cold_starts
    }
    (again,) = rows(measured)
    assert again["accuracy_top1"] == row["accuracy_top1"] == "0.75"
    assert again["cold_processes"] == str(COLD_STARTS)
    assert again["cold_missing_reason"] == ""
    assert all((measured / line.file).is_file() for line in run_after.operators.values())
    assert run_after.rounds == run_before.rounds, "no round is measured again"


def test_what_failed_by_its_own_fault_stays(measured: Path) -> None:
    fail_follow_ups(measured, transient=False)
    assert run("resume", str(measured))[0] == 0
    assert reasons(read_run(measured)) == ["it was killed"] * 3


def test_a_failure_never_replaces_an_answer(measured: Path) -> None:
    """Journals of several writers are read in any order."""
    stored_run = read_run(measured)
    ledger = Ledger(measured, stored_run.manifest)
    assert len(follow_ups(stored_run)) == 2 + COLD_STARTS
    for line in follow_ups(stored_run):
        ledger.take("here", line)
        ledger.take("here", replace(line, reason="it was killed", transient=True))
    assert not any(reasons(ledger.run))
