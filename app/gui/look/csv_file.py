"""What a view shows, as numbers: the table it gives, and the file that is made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.formatting.text import storable
from app.run_folder.files import replacing
from app.run_folder.table import csv_line, neutralise_formula
from exporters.types import GraphlapError

Table = tuple[list[str], list[list[object]]]
"""Column names and rows."""


class NotWritten(GraphlapError):
    """A picture or table could not be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} could not be written", "choose a folder that you may write to")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """UTF-8, `.` decimals, empty for None and NaN; text a spreadsheet would run is quoted."""
    try:
        with replacing(path) as file:
            file.writelines(csv_line(map(_cell, row)).encode() for row in (header, *rows))
    except OSError as error:
        raise NotWritten(path) from error


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return neutralise_formula(storable(value)) if isinstance(value, str) else str(value)
