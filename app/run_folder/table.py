"""Tables of a run folder: rows as CSV and back, all columns for programs, some for people.

`results.full.csv` is what every reader of ours takes. Both are replaced whole, the full one
first: a kill between the two leaves a table for people that is one renewal older.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from app.cases.column import Blank, Column, Row, Value
from app.cases.columns import (
    BY_NAME,
    all_names,
    column,
    main_columns,
)
from app.formatting.text import storable
from app.run_folder.folder import RESULTS, RunFolder
from app.run_folder.manifest import FULL_TABLE
from exporters.file_access import read_file

csv.field_size_limit(sys.maxsize)  # a cell holds whatever a model or an engine calls itself
_QUOTE = '"'
_SPECIAL = re.compile(r'[,;"\t\r\n]')
"""A program may take a semicolon or a tab for the end of a cell too, unless the cell is quoted."""
_FORMULA = re.compile(r"'*(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""What a spreadsheet may run: OWASP's list (owasp.org/www-community/attacks/CSV_Injection), the
full-width forms among it, behind blanks too; and behind apostrophes, so that ours is told apart."""


def to_csv(rows: Sequence[Row], columns: Sequence[str] = ()) -> bytes:
    """The whole file; numbers keep every digit that is needed to read them back exactly.

    Without `columns`, those of every row and what else these rows have.
    """
    names = columns or all_names(rows)
    return "".join((csv_line(names), *map(line_of(names), rows))).encode("utf-8")


def csv_line(cells: Iterable[str]) -> str:
    """A line of these texts, quoted where one could end its cell."""
    return ",".join(map(_quote, cells)) + "\n"


def line_of(names: Sequence[str]) -> Callable[[Row], str]:
    """What makes a line of a row; most cells of most rows are empty."""
    places = {name: place for place, name in enumerate(names)}
    empty = [""] * len(names)

    def line(row: Row) -> str:
        cells = empty.copy()
        for name, value in row.items():
            if value is not None and name in places:
                cells[places[name]] = _quote(_cell(value))
        return ",".join(cells) + "\n"

    return line


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


def read_rounds(path: Path) -> dict[str, int]:
    """Case id -> its number of timed rounds in a `results.csv`, without reading its other cells.

    Empty like `read_rows` if there is no readable file.
    """
    try:
        lines = csv.reader(io.StringIO(read_file(path).decode("utf-8"), newline=""), strict=True)
        names = next(lines, [])
        case_id, rounds = names.index("case_id"), names.index("rounds")
        complete = (line for line in lines if len(line) > max(case_id, rounds))
        return {line[case_id]: int(line[rounds]) for line in complete if line[rounds].isdecimal()}
    except (OSError, ValueError, csv.Error):
        return {}


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
    values = (
        (definition.name, _value(definition, cell))
        for definition, cell in pairs
        if definition and cell
    )
    return Blank({name: value for name, value in values if value is not None})


def neutralise_formula(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def restore_formula(cell: str) -> str:
    """The text of which `neutralise_formula` made a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def _cell(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return neutralise_formula(storable(value)) if isinstance(value, str) else str(value)


def _quote(cell: str) -> str:
    """Python's own writer leaves a lone carriage return bare, at which readers begin a new row."""
    return f'"{cell.replace(_QUOTE, 2 * _QUOTE)}"' if _SPECIAL.search(cell) else cell


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
    yield FULL_TABLE, to_csv(rows)
    yield RESULTS, to_csv(rows, main_columns(words, all_names(rows)))


def write_tables(folder: RunFolder, rows: Sequence[Row], words: Sequence[str] = ()) -> None:
    """Replace the tables of a run; DiskError if one can't be written."""
    for name, content in tables(rows, words):
        folder.write(name, content)
