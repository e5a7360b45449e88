"""`graphlap export` of runs that are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.cases.column_names import parse_columns
from app.cases.errors import PlanError, unwritable
from app.console.export_formats import CSV, export
from app.console.verify import damage
from app.run_folder.run import Run
from app.runs.exporting.verification import back_up_fuller_table
from app.runs.verify import IntactRun, read_intact


def export_stored(
    folders: Sequence[str], names: Sequence[str], columns: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of what is whole in runs that are there: a line for each file, and one for each
    thing that is damaged. `columns` is `--columns` as typed."""
    if columns is not None and CSV not in names:
        raise PlanError("--columns is of results.csv", "add -f csv, or remove --columns")
    paths: list[Path] = []
    runs: list[IntactRun] = []
    backups: list[str] = []
    for folder in folders:
        intact = read_intact(Path(folder))
        words = _words(intact.run, columns)
        if "csv" in names and (sentence := _back_up(intact.run)):
            backups.append(sentence)
        paths += export(intact.run, names, words)
        runs.append(intact)
    return (*backups, *(f"wrote {path}" for path in paths)), damage(runs)


def _words(run: Run, columns: str | None) -> tuple[str, ...]:
    if columns is None:
        return ()
    return parse_columns(columns, run.manifest.requested_plan.percentiles)


def _back_up(run: Run) -> str:
    try:
        return back_up_fuller_table(run)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
