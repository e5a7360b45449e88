"""The full table and the one for people: written together, checked, read, and chosen; names and
messages of others steer no terminal and break no file."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.columns.table import MAIN, NAMES, all_names
from app.analysis.columns.tables import read_rows, read_table, rows_of, tables, write_tables
from app.cases.column import Row
from app.formatting.text import printable, storable
from app.run_folder.files import write_atomically
from app.run_folder.folder import RunFolder
from app.run_folder.table import to_csv
from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep import run as refreshing
from app.sweep.run import Refresher
from tests.app.cli.headless.batch import FAKE
from tests.app.cli.headless.batch import run as batch
from tests.app.hostile import formulas

FULL, PEOPLE = "results.full.csv", "results.csv"


@pytest.fixture
def run(measured_mlp: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured_mlp, tmp_path / "runs" / "run"))


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


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
        (("export", "-f", "csv", "--columns", "verdicts"), "verdict"),
        (("export", "-f", "csv", "--columns", "model,,host"), "identity"),
        (("export", "-f", "json", "--columns", "model"), "-f csv"),
    ],
)
def test_a_wrong_choice_is_refused_and_nothing_written(
    run: Path, arguments: tuple[str, ...], nearest: str
) -> None:
    contents = {path.name: path.read_bytes() for path in run.glob("results*")}
    code, _, errors = batch(*arguments, str(run))
    assert code == 2 and nearest in errors
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
    nothing: list[Row] = [
        {**row, "rounds": None, "status": "cancelled"} for row in Rows().of(read_run(run))
    ]
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
    rows = Rows().of(read_run(run))
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe 模型 🙂 [bold]", "Größe 模型 🙂 [bold]"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\r\nb\u202e", r"a\r\nb\u202e"),
        (os.fsdecode(b"\xff\xfe"), r"\xff\xfe"),
    ],
)
def test_a_terminal_gets_nothing_that_steers_it(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("begun", ["=", "\t", "\n", "\uff1d", " =", "'=", "''-", "x;=", "x\t@"])
def test_a_spreadsheet_runs_no_text_and_numbers_stay_numbers(begun: str) -> None:
    rows: list[Row] = [{"case_id": "a", "model": f"{begun}1+1", "latency_p50_us": -1.5}]
    content = to_csv(rows, ("case_id", "model", "latency_p50_us"))
    assert not formulas(content)
    assert b",-1.5" in content
    assert rows_of(content.decode())["a"] == rows[0], "and is read back as it was"


@given(st.text(st.characters()))
def test_whatever_a_name_is_it_can_be_shown_and_stored(text: str) -> None:
    assert printable(text).isprintable()
    printable(text).encode("utf-8")
    storable(text).encode("utf-8")
    if "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text):
        assert storable(text) == text, "what UTF-8 can carry is kept as it is"


@given(st.lists(st.text(st.characters()), max_size=5))
def test_a_csv_has_a_row_for_each_row_whatever_its_texts_are(texts: list[str]) -> None:
    rows: list[Row] = [{"model": text, "reason": text} for text in texts]
    content = to_csv(rows, ("model", "reason")).decode("utf-8")
    _, *read = csv.reader(io.StringIO(content, newline=""))
    assert len(read) == len(rows)
    for text, (model, reason) in zip(texts, read, strict=True):
        assert model == reason
        assert model.removeprefix("'") == storable(text).removeprefix("'")
