"""Rows as CSV, and the cells that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from app.cases.column import Row, Value
from app.formatting.text import storable
from exporters.file_access import read_file

csv.field_size_limit(sys.maxsize)  # a cell holds whatever a model or an engine calls itself
_QUOTE = '"'
_SPECIAL = re.compile(r'[,;"\t\r\n]')
"""A program may take a semicolon or a tab for the end of a cell too, unless the cell is quoted."""
_FORMULA = re.compile(r"'*(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""What a spreadsheet may run: OWASP's list (owasp.org/www-community/attacks/CSV_Injection), the
full-width forms among it, behind blanks too; and behind apostrophes, so that ours is told apart."""


def to_csv(rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    """The whole file; numbers keep every digit that is needed to read them back exactly."""
    return "".join((csv_line(columns), *map(line_of(columns), rows))).encode("utf-8")


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
