"""`graphlap export`, and `--export` of a run as it ends: the formats of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.cases.column_names import parse_columns
from app.cases.errors import PlanError, ResultsError, suggestion, unwritable
from app.columns.rows import Rows
from app.comparison.measured_case import MeasuredCase
from app.console.verify import damage
from app.run_folder.run import Run
from app.run_folder.table import has_one_table
from app.runs.exporting.verification import back_up_fuller_table
from app.runs.verify import IntactRun, read_intact
from exporters import install_layout


@dataclass(frozen=True, slots=True)
class Format:
    """`writes` is the function that makes the files of a run and its rows and gives their paths;
    `package` is what it needs beyond ours, which the extra `data` brings. `compares`: it takes
    measured cases in the place of rows, since it compares them."""

    writes: str
    package: str = ""
    compares: bool = False


_CSV = "csv"
FORMATS = {
    _CSV: Format("app.runs.exporting.tables:export_csv"),
    "json": Format("app.runs.exporting.json_file:export_json"),
    "markdown": Format("app.console.markdown:export_markdown", compares=True),
    "parquet": Format("app.runs.exporting.tables:export_parquet", "pyarrow"),
    "hdr": Format("app.runs.exporting.traces:export_hdr", "hdrh"),
    "trace": Format("app.runs.exporting.traces:export_trace"),
}


def formats_of(text: str | None) -> tuple[str, ...]:
    """The formats of `--export csv,trace`; PlanError for one that is not known or can't be made."""
    names = tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
    if text is not None and not names:
        raise PlanError("--export names no format", f"give some of {', '.join(FORMATS)}")
    for name in names:
        if name not in FORMATS:
            raise PlanError(f"--export {name} is not known", suggestion(name, list(FORMATS)))
        package = FORMATS[name].package
        if package and find_spec(package) is None:
            raise PlanError(
                f"--export {name} needs {package}, which is not installed",
                "pip install 'graphlap[data]'",
            )
    return names


def export(
    run: Run,
    names: Sequence[str],
    columns: Sequence[str] = (),
    measurements: Sequence[MeasuredCase] | None = None,
) -> list[Path]:
    """Write the files of these formats into the run folder; DiskError if one can't be. `columns`
    are the words of `--columns`, for the table for people. `measurements` are the run's cases,
    which are read if they are not there yet: rows alone where no format compares them."""
    paths: list[Path] = []
    if measurements is None and any(FORMATS[name].compares for name in names):
        measurements = Rows().measured(run)
    rows = Rows().of(run) if measurements is None else [case.row for case in measurements]
    try:
        for name in names:
            options = {"columns": columns} if name == _CSV else {}
            cases = measurements if FORMATS[name].compares else rows
            paths += install_layout.load(FORMATS[name].writes)(run, cases, **options)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
    return paths


def export_stored(
    folders: Sequence[str], names: Sequence[str], columns: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of what is whole in runs that are there: a line for each file, and one for each
    thing that is damaged. `columns` is `--columns` as typed."""
    if columns is not None and _CSV not in names:
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
    if has_one_table(run.manifest):
        raise ResultsError(
            f"{run.path} is of an earlier release, and its results.csv has every column",
            "remove --columns",
        )
    return parse_columns(columns, run.manifest.requested_plan.percentiles)


def _back_up(run: Run) -> str:
    try:
        return back_up_fuller_table(run)
    except OSError as error:
        raise unwritable(run.path, error, ", or copy the run") from error
