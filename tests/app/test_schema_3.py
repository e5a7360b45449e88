"""A run folder of schema 3, which has former names of columns, is read and shown as before.

`schema_3.tar.gz` holds one that the release before schema 4 wrote: every column has a value in
some of its rows.
"""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path

import pytest

from app.benchmark import load_results
from app.cases.column import Value, are_equal
from app.cases.column_names import RENAMED, current_name
from app.cases.columns import NAMES
from app.columns.rows import Rows
from app.history.run_comparison import compare_runs, side_of
from app.history.trends import read_history
from app.run_folder.table import read_rows
from app.runs.reader import read_run
from app.runs.verify import verify

ARCHIVE = Path(__file__).with_name("results") / "schema_3.tar.gz"
_RENAMES = (
    (" is cancelled: ", " is not run: "),
    (" was measured: --resume it", " was measured: resume it"),
    ("Resume the run (--resume).", "Resume the run (graphlap resume)."),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "finished"


def test_its_table_has_former_names_and_is_read_under_those_of_today(run: Path) -> None:
    with (run / "results.full.csv").open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    assert set(RENAMED) <= set(header)
    rows = read_rows(run / "results.full.csv")
    filled_columns = {
        name for row in rows.values() for name, value in row.items() if value is not None
    }
    assert not filled_columns & RENAMED.keys()
    assert {current_name(name) for name in header} <= set(NAMES)


def _is_of_newer_statistics(name: str) -> bool:
    """Intervals allow for slow changes of the machine since, and so do the figures made of them."""
    return any(
        word in name
        for word in ("_ci_", "ci_flags", "upper_bound", "required_", "detectable", "warning")
    )


def test_its_rows_are_computed_as_they_were(run: Path) -> None:
    stored_rows = read_rows(run / "results.full.csv")
    computed_rows = {str(row["case_id"]): row for row in Rows().of(read_run(run))}
    assert computed_rows.keys() == stored_rows.keys()
    differing = {
        (case_id, name)
        for case_id, row in computed_rows.items()
        for name in NAMES
        if not _is_of_newer_statistics(name)
        and not _is_equal(row[name], _in_words_of_today(stored_rows[case_id].get(name)))
    }
    assert differing == set()


def _is_equal(value: Value, expected: Value) -> bool:
    """But for the rounding of sums, whose order follows the width of the processor's vectors."""
    if isinstance(value, float) and isinstance(expected, float):
        return value == pytest.approx(expected, rel=1e-10, abs=1e-13, nan_ok=True)
    return are_equal(value, expected)


def test_it_is_whole_loaded_compared_and_in_the_history(run: Path) -> None:
    # Statistics have changed since its table was written.
    assert {finding.code for finding in verify(run).findings} <= {"table_differs"}
    frame = load_results(run)
    assert frame["overhead_p50_us"].notna().any()
    from_file = load_results(run / "results.full.csv")
    assert set(NAMES) <= set(from_file.columns)
    assert compare_runs(side_of(read_run(run)), side_of(read_run(run))).cases
    assert read_history(run.parent).trends


def _in_words_of_today(value: Value) -> Value:
    """Reasons and warnings that name a status or a command which has another name today."""
    if isinstance(value, str):
        for former, name in _RENAMES:
            value = value.replace(former, name)
    return value
