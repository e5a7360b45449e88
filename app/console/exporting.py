"""`graphlap export` of runs that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.cases.column_names import parse_columns
from app.cases.errors import PlanError, unwritable
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import HOSTS, hosts_csv, throughput_over_hosts
from app.console.export_formats import CSV, export
from app.run_folder.files import write_atomically
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import Run
from app.runs.exporting.verification import back_up_fuller_table
from app.runs.union import read_runs


def export_stored(
    folders: Sequence[str],
    names: Sequence[str],
    columns: str | None = None,
    output: str | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of what is whole of a run, in its folder or in `output`, where those of several run
    folders, read as one run, have to be: a line for each file, and one for each thing that is
    damaged. `columns` is `--columns` as typed."""
    if columns is not None and CSV not in names:
        raise PlanError("--columns is of results.csv", "add -f csv, or remove --columns")
    run, damage = read_runs(folders, unite=output is not None)
    backup = ""
    if output is not None:
        run = replace(run, path=_output_folder(Path(output)))
    elif run.parts:
        raise PlanError("-o: several runs have no folder of their own", "Give -o FOLDER")
    elif CSV in names:
        backup = _back_up(run)
    measurements = Rows().measured(run) if run.parts else None
    paths = export(run, names, _words(run, columns), measurements)
    if measurements and CSV in names and (together := throughput_over_hosts(run, measurements)):
        write_atomically(run.path / HOSTS, hosts_csv(together))
        paths.append(run.path / HOSTS)
    return (*filter(None, [backup]), *(f"wrote {path}" for path in paths)), damage


def _output_folder(path: Path) -> Path:
    if (path / MANIFEST).exists():
        raise PlanError(f"-o: {path} is a run folder", "Give another folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, ", or give another -o") from error
    return path


def _words(run: Run, columns: str | None) -> tuple[str, ...]:
    if columns is None:
        return ()
    return parse_columns(columns, run.manifest.requested_plan.percentiles)


def _back_up(run: Run) -> str:
    try:
        return back_up_fuller_table(run)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
