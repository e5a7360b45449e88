"""The verification of exported tables: whether they are of the run as it is now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from app.cases.column import Row, are_equal
from app.formatting.text import storable
from app.run_folder.files import Finding
from app.run_folder.folder import RESULTS
from app.run_folder.journal import FOLDER
from app.run_folder.run import Run
from app.run_folder.table import read_rounds
from app.runs.exporting import json_file, tables
from app.runs.verify import count_missing_rounds, fuller_table


def back_up_fuller_table(run: Run) -> str:
    """Rename the full table if it has more rounds than the run, and say so; "" otherwise.

    Where that table is gone, the one for people is kept likewise.
    """
    for name in dict.fromkeys((run.manifest.full_table, RESULTS)):
        table = run.path / name
        missing = count_missing_rounds(read_rounds(table), run)
        if missing:
            backup = next(path for path in _names(run.path / RESULTS) if not path.exists())
            table.rename(backup)
            return f"{table} held {missing:,} rounds that {FOLDER}/ lacks: it is now {backup}"
    return ""


def _names(table: Path) -> Iterator[Path]:
    for number in count(1):
        place = f".{number}" if number > 1 else ""
        yield table.with_name(f"{table.stem}.earlier{place}{table.suffix}")


def check_exports(folder: Path, run_id: str, rows: Mapping[str, Row]) -> Iterator[Finding]:
    """What is wrong with `results.json` and `results.parquet`, of those that are there; `rows` are
    the run's own by case id. All of it is harmless: an export is made again."""
    for name, format_, read, forms in (
        (json_file.RESULTS, "json", _read_json_rows, _json_forms),
        (tables.RESULTS, "parquet", _read_parquet_rows, dict),
    ):
        path = folder / name
        if path.is_file() and (format_ != "parquet" or find_spec("pyarrow") is not None):
            expected = {case_id: forms(row) for case_id, row in rows.items()}
            problem, missing = _compare(read, path, run_id, expected)
            if missing:
                yield from fuller_table(name, missing)
            elif problem:
                again = f"make it again: graphlap export -f {format_}"
                yield Finding("table_differs", name, problem, again, harmless=True)


def _compare(
    read: Callable[[Path], list[Mapping[str, Any]]],
    path: Path,
    run_id: str,
    rows: Mapping[str, Mapping[str, Any]],
) -> tuple[str, int]:
    """In words that follow the file's name, "" where it says what the rows do; and how many rounds
    it has that they lack."""
    try:
        stored_rows = read(path)
        by_id = {str(row["case_id"]): row for row in stored_rows}
        foreign_ids = {str(row["run_id"]) for row in stored_rows} - {run_id}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "can't be read", 0
    if foreign_ids:
        return f"is of another run ({', '.join(sorted(foreign_ids)):.80})", 0
    missing = sum(
        max(0, _count(row) - _count(rows.get(case_id, {}))) for case_id, row in by_id.items()
    )
    differs = by_id.keys() != rows.keys() or any(
        not _holds(row.get(name), value)
        for case_id, row in by_id.items()
        for name, value in rows[case_id].items()
    )
    return "is not what journal and samples amount to" if differs else "", missing


def _count(row: Mapping[str, Any]) -> int:
    """The timed rounds of a row."""
    rounds = row.get("rounds")
    return rounds if isinstance(rounds, int) else 0


def _json_forms(row: Row) -> Mapping[str, Any]:
    return json_file.row_values(row, tuple(row))


def _holds(cell: Any, value: Any) -> bool:
    """Whether a cell has the value, as it is, as JSON has a number that is none, or as Parquet has
    a name that is no text. Most cells of most rows are the same object or plainly equal."""
    if cell is value or (type(cell) is type(value) and cell == value):
        return True
    text = storable(value) if isinstance(value, str) else value
    return any(are_equal(cell, form) for form in (value, json_file.finite(value), text))


def _read_json_rows(path: Path) -> list[Mapping[str, Any]]:
    rows = json.loads(path.read_bytes())["rows"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TypeError("rows are no list of objects")
    return rows


def _read_parquet_rows(path: Path) -> list[Mapping[str, Any]]:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        rows: list[Mapping[str, Any]] = pq.read_table(path).to_pylist()
    except pa.ArrowException as error:  # not all of them are errors of Python's kinds
        raise ValueError(str(error)) from None
    return rows
