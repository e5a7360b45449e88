"""A damaged run folder is told file by file, and one that a kill left is not called damaged."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.errors import ResultsError
from app.cases.jobs import Operator, OperatorTimes
from app.cases.round import RECORD
from app.cases.telemetry import Reading
from app.present.console.export_formats import check_derived
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder, telemetry_name
from app.run_folder.operators import write_operators
from app.run_folder.telemetry import read_readings
from app.runs.reader import read_run
from app.runs.verify import read_intact, verify
from exporters.codec import to_json
from tests.app.cli.headless.batch import run as batch
from tests.app.present.console.telling import told
from tests.app.run_folder.resealed import reseal_journal
from tests.app.run_folder.runs import CASE, OTHER, manifest_of, record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "run"
    with RunFolder.create(path, manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0, 30.0], warmup=2)
        record(folder, CASE, 1, [10.0, 20.0, 30.0])
        record(folder, OTHER, 0, status="crashed", reason="exit code 3")
        write_tables(folder, Rows().of(read_run(path)))
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def journal(run: Path) -> Path:
    (path,) = (run / "journal").iterdir()
    return path


def test_a_run_that_is_whole_is_called_whole_and_every_damaged_line_is_told(run: Path) -> None:
    assert told("verify", run) == (0, "whole: 3 lines, 3 rounds, 6 measured runs\n")
    code, _, errors = batch("verify", str(run.parent))
    assert code == 2 and "is no run folder" in errors
    lines = journal(run).read_bytes().splitlines(keepends=True)
    wrong = {**json.loads(lines[1]), "iterations": "many"}
    lines[:2] = [b'{"kind": "round", \n', json.dumps(wrong).encode() + b"\n"]
    journal(run).write_bytes(b"".join(lines))
    reseal_journal(journal(run))
    code, output = told("verify", run)
    assert code == 1 and "line 1 is damaged (it is no JSON)" in output
    assert "line 2 is damaged (" in output and "iterations" in output
    assert "damaged; whole are 1 line, 1 round, 0 measured runs" in output


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: -RECORD.itemsize])


def _edited(place: int, **values: int) -> Callable[[Path], None]:
    """With other values in one of the records."""

    def edit(path: Path) -> None:
        records = np.fromfile(path, RECORD)
        for name, value in values.items():
            records[name][place] = value
        path.write_bytes(records.tobytes())

    return edit


@pytest.mark.parametrize(
    ("harm", "code", "parameters"),
    [
        (Path.unlink, "samples_unreadable", {"error": "No such file or directory"}),
        (_cut, "samples_cut", {"held": 4, "expected": 5}),
        (_edited(-1, finished_ns=-1), "samples_damaged", {"damage": "order"}),
        (
            _edited(-1, started_ns=-(2**62) - 2**61, finished_ns=2**62),
            "samples_damaged",
            {"damage": "extent"},
        ),
        (_edited(0, phase=1), "samples_damaged", {"damage": "phases"}),
        (_edited(0, lane=3), "samples_damaged", {"damage": "lanes"}),
    ],
)
def test_samples_that_are_not_what_was_measured_are_told(
    run: Path, harm: Callable[[Path], None], code: str, parameters: dict[str, object]
) -> None:
    harm(run / "samples" / f"{CASE.case_id}.0.bin")
    report = verify(run)
    (finding,) = report.findings
    assert report.damaged
    assert (finding.code, finding.file) == (code, f"samples/{CASE.case_id}.0.bin")
    row = next(row for row in Rows().of(read_run(run)) if row["case_id"] == CASE.case_id)
    (damage,) = (diagnostic for diagnostic in diagnostics_of(row) if diagnostic.code == code)
    assert damage.parameters == {"round": 1, **parameters}


@pytest.mark.parametrize("odd", ["pipe", "device", "loop", "huge"])
def test_what_stands_in_the_place_of_a_file_keeps_nobody_waiting(run: Path, odd: str) -> None:
    """A pipe never ends its first read, a device never its last."""

    def becomes_odd(path: Path) -> None:
        if odd == "huge":
            os.truncate(path, 1 << 42)
            return
        path.unlink()
        if odd == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero" if odd == "device" else path.name)

    (samples,) = (run / "samples").glob("*.1.bin")
    becomes_odd(samples)
    (issue,) = verify(run).findings
    assert (issue.code, issue.file) == ("samples_unreadable", f"samples/{samples.name}")
    assert len(read_run(run).rounds_of(CASE)) == 1, "and the rest is there"
    becomes_odd(journal(run))
    if odd != "loop":  # a link that leads nowhere is not there
        assert any(finding.code == "unreadable" for finding in verify(run).findings)
        with pytest.raises(ResultsError, match="can't be read"):
            read_run(run)
    becomes_odd(run / "manifest.json")
    with pytest.raises(ResultsError, match=r"manifest.json"):
        verify(run)


def test_readings_that_are_damaged_are_told_and_cost_no_round(run: Path) -> None:
    whole = json.dumps(to_json(Reading(1, "cpu", energy_mj=1.0)))
    telemetry_file = run / "telemetry" / telemetry_name(CASE.case_id, 0)
    telemetry_file.parent.mkdir()
    telemetry_file.write_bytes(f"{whole}\n".encode() + b"\0\0\n[]\n" + f'{whole}\n{{"torn'.encode())
    (finding,) = verify(run).findings
    assert finding.code == "telemetry_damaged"
    assert (finding.file, finding.harmless) == (f"telemetry/{telemetry_file.name}", True)
    assert read_readings(telemetry_file) == [Reading(1, "cpu", energy_mj=1.0)] * 2
    assert {row["status"] for row in Rows().of(read_run(run))} == {"ok", "crashed"}


def test_what_a_kill_leaves_is_noted_and_no_damage(run: Path) -> None:
    with journal(run).open("ab") as file:
        file.write(b'{"kind": "rou')
    (run / "samples" / f"{OTHER.case_id}.1.bin").write_bytes(bytes(40))
    report = verify(run)
    assert not report.damaged
    assert [finding.code for finding in report.findings] == ["line_torn", "samples_unfinished"]


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda rows: rows.replace(",crashed,", ",ok,"), "table_differs"),
        (lambda rows: rows + '"' + "x" * 200_000, None),
    ],
)
def test_rows_that_do_not_follow_from_the_samples_are_damage(
    run: Path, edit: Callable[[str], str], code: str | None
) -> None:
    results = run / "results.full.csv"
    results.write_text(edit(results.read_text()))
    (finding,) = verify(run).findings
    assert (finding.file, finding.harmless) == ("results.full.csv", False)
    assert code is None or (finding.code == code and "status" in finding.problem)


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (Path.unlink, "operators_missing"),
        (
            lambda path: path.write_text("".join(path.read_text().splitlines(True)[:-1])),
            "operators_damaged",
        ),
    ],
)
def test_a_table_of_operators_that_is_not_what_was_measured_is_told_and_left_out(
    tmp_path: Path, harm: Callable[[Path], object], code: str
) -> None:
    ops = (Operator("a", "MatMul", 8.0, "mm", ("a",)), Operator("b", "Relu", 2.0, "relu", ("b",)))
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0, 20.0, 30.0])
        operators = write_operators(folder, OperatorTimes(CASE.case_id, "wall", 9, ops))
        folder.record(operators)
    harm(tmp_path / "run" / operators.file)
    (finding,) = (issue for issue in verify(tmp_path / "run").findings if not issue.harmless)
    assert finding.code == code
    assert CASE.case_id in finding.remedy
    assert not read_intact(tmp_path / "run").run.operators
    assert main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "r.html")]) == 1


def test_a_table_of_another_run_is_damage(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with RunFolder.create(tmp_path / "other", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0])
    for path in (run, tmp_path / "other"):
        assert main(["export", "-f", "json,parquet", str(path)]) == 0
    code, output = told("verify", run)
    assert code == 0 and output.startswith("whole: ")
    shutil.copy(tmp_path / "other" / "results.parquet", run)
    (run / "results.json").write_text((run / "results.json").read_text().replace("30.0", "31.0"))
    findings = verify(run, check_derived).findings
    assert [(finding.file, finding.harmless) for finding in findings] == [
        ("results.json", False),
        ("results.parquet", False),
    ]
    (run / "results.parquet").write_bytes(b"PAR1 and no more PAR1")
    code, output = told("verify", run)
    assert code == 1
    advice = output.partition("results.parquet")[2]
    command = shlex.split(advice.partition("graphlap ")[2].splitlines()[0])
    assert main(command) == 0
    assert not (run / "results.parquet").read_bytes().startswith(b"PAR1 and")


def test_lines_that_are_lost_are_missed_where_a_run_has_ended(run: Path) -> None:
    """A journal that is cut at the end of a line has nothing that is torn."""
    lines = journal(run).read_bytes().splitlines(keepends=True)
    journal(run).write_bytes(lines[0])
    for table in run.glob("results*.csv"):
        table.unlink()
    for state, code in (("measuring", 0), ("finished", 1)):
        (run / "live.json").write_text(json.dumps({"state": state}))
        returned, output = told("verify", run)
        assert returned == code
    assert f"{CASE.case_id}.1.bin was measured, but no journal line records it" in output
    assert "restore journal/ from a copy" in output
