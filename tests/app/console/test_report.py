"""The table under a sweep: what differs is a column, what does not is said once."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from app.cases.case import Case, Scenario
from app.cases.columns import Row
from app.console.report import final_table, reasons
from app.results.folder import RunFolder
from app.results.labels import labels
from app.results.reader import read_run
from app.results.rows import Rows
from tests.app.results.runs import ENVIRONMENT, manifest_of, record

MLP = Case("mlp", "fake", axes={"batch": 4})
TWICE = [20.0] * 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def measured(path: Path, *cases: Case, **facts: Any) -> list[Row]:
    """The rows of these cases, measured twice with runs of 20 us."""
    with RunFolder.create(path, manifest_of(cases)) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            for number in range(2):
                record(folder, case, number, TWICE, **facts)
    return rows_of(path)


def rows_of(path: Path) -> list[Row]:
    return Rows().of(read_run(path))


def shown(rows: Sequence[Row]) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(final_table(rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_differs_is_a_column_and_what_is_common_stands_below(path: Path) -> None:
    head, *_, common = shown(measured(path, MLP, replace(MLP, threads=2))).strip().splitlines()
    assert "threads" in head
    assert "scenario" not in head
    assert common.startswith("every measured row: ")
    assert "scenario closed_loop" in common
    assert "threads" not in common


def test_a_row_has_its_figures_in_units_and_its_status(path: Path) -> None:
    table = shown(measured(path, MLP))
    (row,) = [line for line in table.splitlines() if line.lstrip().startswith("mlp")]
    assert row.split()[-1] == "ok"
    assert row.split()[:4] == ["mlp", "-", "4", "fake"]
    assert row.count(" 20.0 µs ") == 2, "mean and p50"
    assert row.count(" - ") == 2, "no parameters told, and 60 samples support no p99"
    assert "20.00 to 20.00 µs" in row


def test_a_pause_between_runs_is_told_with_the_scenario(path: Path) -> None:
    paced = replace(MLP, scenario=Scenario("paced", 20.0))
    table = shown(measured(path, MLP, paced))
    assert "paced:20us" in table and "closed_loop" in table


def test_published_figures_stand_under_the_rows_of_their_model_and_say_so(path: Path) -> None:
    lines = shown(measured(path, Case("lstm_large", "fake"), MLP)).splitlines()
    ours, published, other = (
        next(k for k, line in enumerate(lines) if word in line)
        for word in ("lstm_large", "published (", "mlp")
    )
    assert ours < published < other
    assert "8.50 µs" in lines[published]


def test_files_of_the_same_name_are_told_apart(path: Path) -> None:
    rows = measured(path, Case("/a/x/net.onnx", "fake"), Case("/a/y/net.onnx", "fake"))
    table = shown(rows)
    assert "x/net.onnx" in table and "y/net.onnx" in table


def test_every_row_that_is_not_well_has_its_reason(path: Path) -> None:
    broken, late = replace(MLP, threads=2), replace(MLP, axes={"batch": 8})
    with RunFolder.create(path, manifest_of((MLP, broken, late))) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            record(folder, MLP, number, TWICE)
            record(folder, late, number, TWICE, valid=False, warnings=("it was disturbed",))
        record(folder, broken, 0, (), "crashed", reason="ended by SIGSEGV")
    rows = rows_of(path)
    crashed, disturbed = reasons(rows, labels((MLP, broken, late)))
    assert crashed.endswith(": crashed: ended by SIGSEGV")
    assert disturbed.endswith(": not valid: it was disturbed")
    assert "batch 4" in crashed
    assert "batch 8" in disturbed
    (row,) = [line for line in shown(rows).splitlines() if "crashed" in line]
    assert row.count(" - ") >= 3, "nothing was timed"
