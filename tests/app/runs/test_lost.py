"""What a run folder lost as a whole, and values that no run of ours can have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import read_rows, write_tables
from app.cases.round import RoundResult
from app.present.console.export_formats import check_derived
from app.run_folder.folder import RunFolder
from app.run_folder.journal import LONGEST_TEXT, Operators
from app.runs.reader import read_run
from app.runs.verify import verify
from exporters.diagnostics import diagnostic
from tests.app.cli.headless.batch import run as batch
from tests.app.run_folder.runs import CASE, OTHER, manifest_of, record


@pytest.fixture
def run(measured_mlp: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured_mlp, tmp_path / "run"))


def _last_round(run: Path) -> None:
    """Its line, those after it and its samples: nothing else names that round."""
    (journal,) = (run / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"samples"' in line)
    journal.write_bytes(b"".join(lines[:last]))
    (run / "samples" / json.loads(lines[last])["samples"]).unlink()


def _all(run: Path) -> None:
    shutil.rmtree(run / "journal")
    shutil.rmtree(run / "samples")


def _all_and_how_it_ended(run: Path) -> None:
    _all(run)
    (run / "live.json").unlink()


@pytest.mark.parametrize("harm", [_last_round, _all, _all_and_how_it_ended])
def test_what_is_gone_without_a_trace_is_damage(run: Path, harm: Callable[[Path], None]) -> None:
    assert not verify(run).findings
    harm(run)
    report = verify(run)
    assert report.damaged
    assert not any("graphlap export" in finding.remedy for finding in report.findings)
    assert main(["verify", str(run)]) == 1


def test_the_only_table_left_survives_an_export_and_a_resume(run: Path) -> None:
    table = (run / "results.full.csv").read_bytes()
    _all(run)
    assert main(["export", "-f", "csv", str(run)]) == 0
    (copy,) = run.glob("results.earlier*.csv")
    assert copy.read_bytes() == table
    assert main(["export", "-f", "csv", str(run)]) == 0
    assert batch("resume", str(run))[0] == 0
    assert [path.read_bytes() for path in run.glob("results.earlier*.csv")] == [table]
    assert not verify(run).damaged, "what was lost is measured again"


def test_an_export_with_more_rounds_than_the_journals_is_damage(run: Path) -> None:
    assert main(["export", "-f", "json", str(run)]) == 0
    _last_round(run)
    (run / "live.json").unlink()
    for table in run.glob("results*.csv"):
        table.unlink()
    report = verify(run, check_derived)
    assert report.damaged
    assert {finding.file for finding in report.findings if not finding.harmless} == {"results.json"}


FAILED = RoundResult(OTHER.case_id, 0, "crashed")


@pytest.mark.parametrize(
    "odd",
    [
        replace(FAILED, case_id="0" * 12),
        replace(FAILED, round=10**9),
        replace(FAILED, phases_ms={"compile": float("nan")}),
        replace(FAILED, duration_s=float("inf")),
        Operators(CASE.case_id, runs=1, total_us=float("nan"), file=""),
    ],
)
def test_a_value_that_no_run_has_is_damage(tmp_path: Path, odd: RoundResult) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        folder.record(odd)
    assert verify(tmp_path / "run").damaged


def test_a_cell_of_any_length_is_read_back_and_a_reason_of_megabytes_cut(tmp_path: Path) -> None:
    """An error of the outputs may be infinite."""
    long, path = "é" * 200_000, tmp_path / "run"
    warning = diagnostic("checker_rejects_graph", objection="y" * 10_000_000)
    with RunFolder.create(path, manifest_of()) as folder:
        record(folder, CASE, 0, [10.0] * 8, device_name=long, facts={"ratio": float("inf")})
        folder.record(replace(FAILED, reason="x" * 10_000_000, warnings=(warning,)))
        write_tables(folder, Rows().of(read_run(path)))
    assert read_rows(path / "results.full.csv")[CASE.case_id]["device_name"] == long
    (failed,) = read_run(path).rounds[OTHER.case_id].values()
    objection = str(failed.warnings[0].parameters["objection"])
    assert len(failed.reason) == len(objection) == LONGEST_TEXT + 1
    assert main(["verify", str(path)]) == 0
    assert (path / "results.full.csv").stat().st_size < 5 * 10**5
    assert main(["history", str(tmp_path)]) in (0, 1)
