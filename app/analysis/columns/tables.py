"""Tables of a run folder and back to rows: all columns for programs, some for people.

`results.full.csv` is what every reader of ours takes. Both are replaced whole, the full one
first: a kill between the two leaves a table for people that is one renewal older.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from app.analysis.columns.table import BY_NAME, all_names, column, main_columns
from app.cases.column import Blank, Column, Row, Value
from app.run_folder.folder import RESULTS, RunFolder
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.table import restore_formula, to_csv
from exporters.file_access import read_file


def read_rows(path: Path) -> dict[str, Row]:
    """Case id -> row of a `results.csv`; empty if there is no readable file, which is no fault.

    A column that is not known, as a later version may write, is passed over.
    """
    try:
        return rows_of(read_file(path).decode("utf-8"))
    except (OSError, UnicodeDecodeError, csv.Error):  # as where a quote is lost
        return {}


def read_table(path: Path) -> tuple[tuple[str, ...], list[Row]]:
    """The columns of such a file that are known, and its lines in their order, with or without
    ids; nothing of a file that can't be read."""
    try:
        names, rows = table_of(read_file(path).decode("utf-8"), strict=True)
    except (OSError, UnicodeDecodeError, csv.Error):
        return (), []
    return tuple(name for name in names if column(name)), rows


def rows_of(text: str) -> dict[str, Row]:
    """The same of the text of such a file; what is empty in a line is not in its row."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns = [column(name) for name in next(lines, ())]
    if BY_NAME["case_id"] not in columns:
        return {}
    rows = (_row(columns, line) for line in lines)
    return {str(row["case_id"]): row for row in rows if row["case_id"]}


def table_of(text: str, strict: bool = False) -> tuple[tuple[str, ...], list[Row]]:
    """The columns of such a file by today's names, and its lines in their order; a column that is
    not known is text. csv.Error for a `strict` reader, as where a quote is lost."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=strict)
    names = tuple(next(lines, ()))
    columns = [column(name) or replace(BY_NAME["reason"], name=name) for name in names]
    return names, [_row(columns, line) for line in lines]


def _row(columns: Sequence[Column | None], line: Sequence[str]) -> Row:
    pairs = zip(columns, line, strict=False)
    values = ((c.name, _value(c, cell)) for c, cell in pairs if c and cell)
    return Blank({name: value for name, value in values if value is not None})


def _value(column: Column, cell: str) -> Value:
    """A cell that is not empty as `_cell` had it; None for one that does not hold what its column
    does."""
    if column.kind == "text":
        return restore_formula(cell)
    if column.kind == "flag":
        return {"true": True, "false": False}.get(cell)
    try:
        return int(cell) if column.kind == "count" else float(cell)
    except ValueError:
        return None


def tables(rows: Sequence[Row], words: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Name and content of each table of these rows, the full one first; `words` are those of
    `--columns`."""
    names = all_names(rows)
    yield FULL_TABLE, to_csv(rows, names)
    yield RESULTS, to_csv(rows, main_columns(words, names))


def write_tables(folder: RunFolder, rows: Sequence[Row], words: Sequence[str] = ()) -> None:
    """Replace the tables of a run; DiskError if one can't be written."""
    for name, content in tables(rows, words):
        folder.write(name, content)
