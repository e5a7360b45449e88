"""Rows as CSV: UTF-8, header always, `.` decimals, empty where nothing was measured."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from app.cases.columns import COLUMNS, Row, Value

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_csv(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> bytes:
    """The whole file; numbers keep every digit that is needed to read them back exactly."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
    return text.getvalue().encode("utf-8")


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return neutralised(value) if isinstance(value, str) else str(value)


def neutralised(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
