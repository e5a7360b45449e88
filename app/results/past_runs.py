"""A folder of run folders -> what each run found of its cases, in order of time.

Rows come from `results.csv` where it is whole and of this version, so that years of runs are read
in seconds; else they are computed from the samples.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.column import Row
from app.cases.columns import NAMES
from app.cases.errors import ResultsError
from app.machine.environment import graphlap_version
from app.results.folder import RESULTS, is_being_written
from app.results.hosts import environments
from app.results.journal import FOLDER as JOURNAL
from app.results.manifest import MANIFEST, Manifest, read_manifest
from app.results.reader import read_environments, read_run
from app.results.rows import Rows
from app.results.table import read_rows


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run: where it lies, when it began, on which hosts, and its cases with their rows.
    `merged` are the ids of the runs that it is of."""

    path: Path
    run_id: str
    created_at_utc: str
    environments: Mapping[str, Mapping[str, Any]]
    cases: tuple[tuple[Case, Row], ...]
    merged: tuple[str, ...] = ()

    def environment_of(self, host: str) -> Mapping[str, Any]:
        """What this host was; {} of one that nobody tells of."""
        return self.environments.get(host, {})


def past_runs(folder: Path) -> tuple[list[PastRun], list[str]]:
    """The runs below a folder, at any depth, the oldest first; and why others were passed over.

    ResultsError if there is none.
    """
    if not folder.is_dir():
        raise ResultsError(f"{folder} is no folder", "give one with run folders in it")
    found: dict[str, PastRun] = {}
    passed_over = []
    for path in _candidates(folder):
        try:
            run = _read(path)
        except ResultsError as error:
            passed_over.append(str(error))
            continue
        if run.run_id in found:
            passed_over.append(f"{path} is a copy of {found[run.run_id].path}")
        else:
            found[run.run_id] = run
    passed_over += _once(found)
    if not found:
        why = f" ({passed_over[0]})" if passed_over else ""
        raise ResultsError(
            f"{folder} has no run folder that can be read{why}", "give a folder with runs in it"
        )
    return sorted(found.values(), key=lambda run: run.created_at_utc), passed_over


def _once(found: dict[str, PastRun]) -> Iterator[str]:
    """Leave out what is there twice, and say why: a merged run, or what is in one if not all of its
    runs are here themselves."""
    for run in [one for one in found.values() if one.merged]:
        there = [run_id for run_id in run.merged if run_id in found]
        if len(there) == len(run.merged):
            del found[run.run_id]
            yield f"{run.path} was merged of runs that are here themselves"
            continue
        for run_id in there:
            yield f"{found.pop(run_id).path} is in {run.path}, which was merged of it and others"


def _candidates(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders.sort()
        if MANIFEST in files:
            yield Path(path)
            if JOURNAL in folders:
                folders.clear()  # nothing inside a run is another


def _read(path: Path) -> PastRun:
    manifest = read_manifest(path)
    if is_being_written(path):
        raise ResultsError(f"{path} is being measured", "look again when it has ended")
    rows = _whole_table(path, manifest) or _computed(path)
    return PastRun(
        path,
        manifest.run_id,
        manifest.created_at_utc,
        environments(manifest, read_environments(path), rows.values()),
        tuple((case, rows[case.case_id]) for case in manifest.cases),
        tuple(part.run_id for part in manifest.merged),
    )


def _whole_table(path: Path, manifest: Manifest) -> dict[str, Row]:
    """The rows by case of a table that has every column and case, and is as new as the journals."""
    table = path / RESULTS
    if manifest.graphlap_version != graphlap_version() or not table.is_file():
        return {}
    journals = (path / JOURNAL).glob("*.jsonl")
    try:
        if any(journal.stat().st_mtime_ns > table.stat().st_mtime_ns for journal in journals):
            return {}
        with table.open(encoding="utf-8", newline="") as file:
            header = tuple(next(csv.reader(file), ()))
        rows = read_rows(table) if header == NAMES else {}
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}
    return rows if all(case.case_id in rows for case in manifest.cases) else {}


def _computed(path: Path) -> dict[str, Row]:
    return {str(row["case_id"]): row for row in Rows().of(read_run(path))}
