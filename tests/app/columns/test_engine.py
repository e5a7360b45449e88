"""An engine that was exchanged between two rounds of a case shows in its row."""

from __future__ import annotations

from pathlib import Path

from app.cases.case import Case
from app.cases.column import Row
from app.columns.rows import Rows
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.diagnostics.catalogue import codes, diagnostic
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record


def row_of(path: Path, *releases: str) -> Row:
    """The row of a case whose rounds ran these releases, each installed to a folder of its own."""
    case = Case("add.onnx", "ort-cpu@old")
    with RunFolder.create(path, manifest_of((case,), rounds=len(releases))) as folder:
        folder.begin(ENVIRONMENT)
        for number, release in enumerate(releases):
            record(
                folder,
                case,
                number,
                [100.0] * 50,
                runtime_version=release,
                engine_path=f"/{release}/__init__.py",
                engine_distribution="engine",
            )
        (row,) = Rows().of(read_run(path))
    return row


def test_rounds_of_two_releases_are_no_figure_of_either(tmp_path: Path) -> None:
    """Who upgrades an environment and then resumes a run has both in one row."""
    row = row_of(tmp_path / "run", "1.27.0", "1.31.1")
    assert row["engine_path"] == "/1.27.0/__init__.py; /1.31.1/__init__.py"
    assert diagnostic("engine_changed", releases=("1.27.0", "1.31.1")) in diagnostics_of(row)


def test_rounds_of_one_release_are_not_doubted_for_it(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", "1.27.0", "1.27.0")
    assert (row["environment"], row["engine_distribution"]) == ("old", "engine")
    assert "engine_changed" not in codes(diagnostics_of(row))
