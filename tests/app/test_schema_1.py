"""Run folders that the release before schema 2 wrote: they open, resume and compare as they are.

`schema_1.tar.gz` holds three of its folders: `finished`; `killed` (kill -9) in the second of two
rounds; `search`, killed while it looked for the largest batch. Their graph and their labelled
data are named by relative paths, and made anew here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.latency_columns import PERCENTILES
from app.columns.rows import Rows
from app.headless import OK
from app.history.run_comparison import RunSide, compare_runs
from app.history.trends import read_history
from app.run_folder.operators import read_operators
from app.run_folder.table import read_rows
from app.runs.following.reader import RunReader
from app.runs.following.state import RunState
from app.runs.reader import read_run
from exporters import install_layout
from tests.app.gui.runs import new_run, record_round, records
from tests.app.workers.labelled_files import write_arrays, write_echo_graph

ARCHIVE = Path(__file__).with_name("results") / "schema_1.tar.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    write_echo_graph(tmp_path / "echo.onnx")
    write_arrays(tmp_path / "data.npz", 640, wrong=64)
    return tmp_path


def resumed(folder: Path, name: str) -> Path:
    """The folder after the batch mode has measured what it lacked."""
    result = subprocess.run(
        [sys.executable, "-m", install_layout.module_name("app"), "--resume", name],
        cwd=folder,
        env=os.environ
        | {"GRAPHLAP_CACHE": str(folder / "cache"), "PYTHONPATH": str(install_layout.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == OK, result.stderr
    return folder / name


def state_of(run: Path) -> RunState:
    """What the window is told, once the summary process has answered."""
    reader = RunReader(run)
    try:
        state = None
        while reader.is_moving or state is None:
            state = reader.poll() or state
    finally:
        reader.close()
    return state


# What is quoted of the same samples is a typical process's today, and warnings have our words.
_COMPUTED_ANEW = {
    "warnings",
    "latency_mean_us",
    "throughput_per_s",
    *(f"latency_{name}_us" for name in PERCENTILES),
    *(f"latency_{name}_ci_{end}_us" for name in PERCENTILES for end in ("low", "high")),
}


def test_its_rows_are_those_that_it_wrote_itself(folder: Path) -> None:
    stored_rows = read_rows(folder / "finished" / "results.csv")
    columns = set(
        (folder / "finished" / "results.csv").read_text("utf-8").split("\n")[0].split(",")
    )
    rows = Rows().of(read_run(folder / "finished"))
    assert {str(row["case_id"]) for row in rows} == stored_rows.keys()
    for row in rows:
        was = stored_rows[str(row["case_id"])]
        same = was.keys() & columns - _COMPUTED_ANEW
        assert {name: row[name] for name in same}.items() <= was.items()
        assert {p: row[f"pooled_{p}_us"] for p in PERCENTILES} == {
            p: was[f"latency_{p}_us"] for p in PERCENTILES
        }
        assert row["warnings"] or not was["warnings"]
    assert len(rows) == 4


def test_its_accuracies_and_operators_are_found(folder: Path) -> None:
    run = read_run(folder / "finished")
    accuracy, failure = (run.accuracy_of(case) for case in (run.cases[0], run.cases[-1]))
    assert accuracy is not None
    assert accuracy.top1 == 0.9
    assert failure is not None
    assert "no reference outputs" in failure.reason
    assert len(run.operators) == 4
    times = read_operators(run.path, run.operators[run.cases[0].case_id])
    assert times.ops
    assert times.total_us == run.operators[run.cases[0].case_id].total_us


def test_it_opens_in_the_window(folder: Path) -> None:
    state = state_of(folder / "finished")
    assert state.problem is None
    assert [entry.status for entry in state.series] == ["ok"] * 4
    assert all(entry.counts.sum() == entry.row["iterations"] for entry in state.series)
    assert all(
        entry.operators for entry in state.details.values() if entry.case.runtime == "ort-cpu"
    )


@pytest.mark.rare
def test_a_killed_run_resumes_under_its_own_names(folder: Path) -> None:
    stored_run = read_run(folder / "killed")
    rounds_by_case = {case_id: dict(rounds) for case_id, rounds in stored_run.rounds.items()}
    run = read_run(resumed(folder, "killed"))
    assert {case.case_id: len(run.rounds_of(case)) for case in run.cases} == dict.fromkeys(
        (case.case_id for case in stored_run.cases), 2
    )
    for case_id, rounds in rounds_by_case.items():
        for number, result in rounds.items():
            assert run.rounds[case_id][number] == result, "what was measured stays"
    assert run.cases == stored_run.cases
    assert [row["accuracy_top1"] for row in Rows().of(run)][:2] == [0.9, 0.9]


@pytest.mark.rare
def test_it_compares_with_a_run_of_today_by_what_its_cases_are(folder: Path) -> None:
    old = state_of(folder / "finished")
    today = [replace(case, naming=2) for case in old.manifest.cases]
    with new_run(folder / "today", today) as run_folder:
        for case in today:
            record_round(run_folder, case, 0, records([5000.0] * 400))
    new = state_of(folder / "today")
    assert not {entry.key for entry in old.series} & {entry.key for entry in new.series}
    old_side, new_side = (
        RunSide(name, tuple(entry.measured for entry in state.series), {})
        for name, state in (("old", old), ("new", new))
    )
    comparison = compare_runs(old_side, new_side)
    assert [case.case_id for case in comparison.cases] == [case.case_id for case in today]
    assert not comparison.only_first + comparison.only_second


def test_it_is_in_a_history_beside_a_run_of_today(folder: Path) -> None:
    old = read_run(folder / "finished")
    today = [replace(case, naming=2) for case in old.cases]
    with new_run(folder / "today", today) as run_folder:
        for case in today:
            record_round(run_folder, case, 0, records([5000.0] * 400))
    history = read_history(folder, any_host=True)
    medians = {trend.case_id: trend for trend in history.trends if trend.percentile == "p50"}
    for case in today:
        names = [point.run.path.name for point in medians[case.case_id].points]
        assert names[0] == "finished" and names[-1] == "today"
