"""A folder of run folders -> what each run found of its cases, in order of time.

Rows come from the full table where it is whole and of this version, so that years of runs are read
in seconds; else they are computed from the samples.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.analysis.columns.rows import Rows, row_names
from app.analysis.columns.tables import read_rows
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import ResultsError
from app.machine.environment import graphlap_version
from app.run_folder.folder import is_being_written
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.journal import journals
from app.run_folder.manifest import FULL_TABLE, MANIFEST, Manifest, environments, read_manifest
from app.run_folder.run import Run
from app.runs.reader import read_environments, read_run


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run: where it lies, when it began, on which hosts, and its cases with their rows. `name`
    is its plan's."""

    path: Path
    run_id: str
    created_at_utc: str
    environments: Mapping[str, Mapping[str, Any]]
    cases: tuple[tuple[Case, Row], ...]
    name: str = ""

    def environment_of(self, host: str) -> Mapping[str, Any]:
        """What this host was; {} of one that nobody tells of."""
        return self.environments.get(host, {})


@dataclass(frozen=True, slots=True)
class SkippedFolder:
    """A folder that was not taken, and why. `damaged`: it is a run that can't be read;
    `created_at_utc` is None where that can't be read either."""

    path: Path
    reason: str
    damaged: bool = False
    created_at_utc: str | None = None


def past_runs(folder: Path) -> tuple[list[PastRun], list[SkippedFolder]]:
    """The runs below a folder, at any depth, the oldest first; and why others were passed over.

    ResultsError if there is none.
    """
    if not folder.is_dir():
        raise ResultsError(f"{folder} is no folder", "give one with run folders in it")
    runs: dict[str, PastRun] = {}
    passed_over = []
    for path in _candidates(folder):
        try:
            run = _read(path)
        except ResultsError as error:
            passed_over.append(_skipped_folder(path, str(error)))
            continue
        if run.run_id in runs:
            reason = f"{path} is a copy of {runs[run.run_id].path}"
            passed_over.append(SkippedFolder(path, reason))
        else:
            runs[run.run_id] = run
    if not runs:
        reason = f" ({passed_over[0].reason})" if passed_over else ""
        raise ResultsError(
            f"{folder} has no run folder that can be read{reason}", "give a folder with runs in it"
        )
    return sorted(runs.values(), key=lambda run: run.created_at_utc), passed_over


def neighbouring_runs(
    folders: Iterable[Path], runs_by_path: Mapping[Path, PastRun] = MappingProxyType({})
) -> list[PastRun]:
    """The runs that lie in the same folders as these, the oldest first, each once; what can't be
    read is left out, and so is what lies deeper. `runs_by_path` has some by their absolute
    paths, which are not read again."""
    parents = dict.fromkeys(folder.absolute().parent for folder in folders)
    runs: dict[str, PastRun] = {}
    for parent in parents:
        for path in sorted(parent.iterdir()):
            if not ((path / MANIFEST).is_file() and (path / JOURNAL).is_dir()):
                continue
            with suppress(ResultsError):
                is_known = path in runs_by_path and not is_being_written(path)
                run = runs_by_path[path] if is_known else _read(path)
                runs.setdefault(run.run_id, run)
    return sorted(runs.values(), key=lambda run: run.created_at_utc)


def _skipped_folder(path: Path, reason: str) -> SkippedFolder:
    """A folder without journals is none of ours, and one that is being measured is whole."""
    if not (path / JOURNAL).is_dir() or is_being_written(path):
        return SkippedFolder(path, reason)
    try:
        return SkippedFolder(path, reason, True, read_manifest(path).created_at_utc)
    except ResultsError:
        return SkippedFolder(path, reason, True)


def _candidates(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders.sort()
        is_run = JOURNAL in folders and any((Path(path) / JOURNAL).glob("*.jsonl"))
        if MANIFEST in files or is_run:
            yield Path(path)
        if is_run:
            folders.clear()  # nothing inside a run is another


def _read(path: Path) -> PastRun:
    manifest = read_manifest(path)
    if is_being_written(path):
        raise ResultsError(f"{path} is being measured", "look again when it has ended")
    rows = _whole_table(path, manifest) or _computed_rows(path)
    return _past_run(path, manifest, read_environments(path), rows)


def past_run(run: Run, rows: Iterable[Row]) -> PastRun:
    """A run that was read, with its rows."""
    by_id = {str(row["case_id"]): row for row in rows}
    return _past_run(run.path, run.manifest, run.environments, by_id)


def _past_run(
    path: Path,
    manifest: Manifest,
    hosts: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Row],
) -> PastRun:
    return PastRun(
        path,
        manifest.run_id,
        manifest.created_at_utc,
        environments(manifest, hosts, rows.values()),
        tuple((case, rows[case.case_id]) for case in manifest.cases),
        manifest.name,
    )


def _whole_table(path: Path, manifest: Manifest) -> dict[str, Row]:
    """The rows by case of a table that has every column and case, and is as new as the journals."""
    table = path / FULL_TABLE
    if manifest.graphlap_version != graphlap_version() or not table.is_file():
        return {}
    try:
        if any(file.stat().st_mtime_ns > table.stat().st_mtime_ns for file in journals(path)):
            return {}
        with table.open(encoding="utf-8", newline="") as file:
            header = tuple(next(csv.reader(file), ()))
        rows = read_rows(table) if header == row_names(manifest.requested_plan) else {}
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}
    return rows if all(case.case_id in rows for case in manifest.cases) else {}


def _computed_rows(path: Path) -> dict[str, Row]:
    return {str(row["case_id"]): row for row in Rows().of(read_run(path))}
