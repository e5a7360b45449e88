"""The full table and the one for people: written together, checked, read, and chosen."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.columns.table import MAIN, NAMES, all_names
from app.analysis.columns.tables import read_rows, read_table, tables, write_tables
from app.cases.column import Row
from app.run_folder.files import write_atomically
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep import run as refreshing
from app.sweep.run import Refresher
from tests.app.cli.headless.batch import FAKE
from tests.app.cli.headless.batch import run as batch

FULL, PEOPLE = "results.full.csv", "results.csv"


@pytest.fixture
def run(measured_mlp: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured_mlp, tmp_path / "runs" / "run"))


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def rows_of(run: Path) -> list[Row]:
    return Rows().of(read_run(run))


def test_a_run_leaves_every_column_for_programs_and_the_main_ones_for_people(run: Path) -> None:
    assert header(run / FULL) == list(NAMES)
    columns = header(run / PEOPLE)
    assert columns == list(MAIN)
    _, stored_rows = read_table(run / PEOPLE)
    full = read_rows(run / FULL)
    for row in stored_rows:
        assert {name: row[name] for name in columns} == {
            name: full[str(row["case_id"])][name] for name in columns
        }


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("model,status,macs", ["model", "status", "macs"]),
        ("all", None),
    ],
)
def test_other_columns_are_chosen_for_a_stored_run(
    run: Path, words: str, shown: list[str] | None
) -> None:
    assert main(["export", "-f", "csv", "--columns", words, str(run)]) == 0
    assert set(header(run / PEOPLE)) == set(shown or NAMES)
    assert header(run / FULL) == list(NAMES)
    assert not verify(run).findings


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("export", "-f", "csv", "--columns", "latency_p50"), "latency_p50_us"),
        (("export", "-f", "json", "--columns", "model"), "-f csv"),
    ],
)
def test_a_wrong_choice_is_refused_and_nothing_written(
    run: Path, arguments: tuple[str, ...], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = {path.name: path.read_bytes() for path in run.glob("results*")}
    assert main([*arguments, str(run)]) == 2
    assert nearest in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in run.glob("results*")} == contents


def test_columns_are_chosen_for_a_run_as_it_is_measured_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    arguments = ("--models", "mlp", *FAKE, "--rounds", "1", "--out", str(path))
    common = ("--headless", "--preset", "glance")
    assert batch(*common, *arguments, "--columns", "verdicts")[0] == 2
    assert not path.exists(), "an unknown one is refused before anything is written"
    assert batch(*common, *arguments, "--columns", "status,model")[0] == 0
    assert header(path / PEOPLE) == ["status", "model"]
    assert not verify(path).findings
    assert batch("resume", str(path), "--columns", "model,seed")[0] == 0
    assert header(path / PEOPLE) == ["model", "seed"]


@pytest.mark.parametrize("name", [FULL, PEOPLE])
def test_each_table_is_verified(run: Path, name: str) -> None:
    assert not verify(run).findings
    text = (run / name).read_text("utf-8")
    (run / name).write_text(text.replace(",ok,", ",crashed,", 1), "utf-8")
    assert [(finding.file, finding.harmless) for finding in verify(run).findings] == [(name, False)]
    (run / name).unlink()
    assert [(finding.file, finding.harmless) for finding in verify(run).findings] == [(name, True)]


def test_a_kill_between_the_two_tables_leaves_a_run_that_a_resume_completes(run: Path) -> None:
    """The full table is of all rounds and the other of none: as if the writer had been killed."""
    content = (run / PEOPLE).read_bytes()
    nothing: list[Row] = [{**row, "rounds": None, "status": "cancelled"} for row in rows_of(run)]
    write_atomically(run / PEOPLE, dict(tables(nothing))[PEOPLE])
    live = json.loads((run / "live.json").read_text())
    (run / "live.json").write_text(json.dumps({**live, "state": "measuring"}))
    report = verify(run)
    assert not report.damaged
    assert [finding.file for finding in report.findings] == [PEOPLE]
    assert batch("resume", str(run))[0] == 0
    assert (run / PEOPLE).read_bytes() == content
    assert not verify(run).findings


def test_the_tables_while_a_run_goes_on_are_those_at_its_end(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renewed step by step, however little time a step has."""
    monkeypatch.setattr(refreshing, "REFRESH_S", 0.0)
    monkeypatch.setattr(refreshing, "AT_ONCE_S", 0.0)
    rows = rows_of(run)
    with RunFolder.reopen(run) as folder:
        write_tables(folder, rows)
        expected = {name: (run / name).read_bytes() for name in (FULL, PEOPLE)}
        for name in expected:
            (run / name).unlink()
        refresher = Refresher(folder, all_names(rows))
        refresher.is_stale = True
        steps = 0
        while not (run / PEOPLE).exists():
            refresher.go_on(iter(rows))
            steps += 1
    assert steps > len(rows)
    assert {name: (run / name).read_bytes() for name in expected} == expected
    assert refresher.rows.keys() == {row["case_id"] for row in rows}
