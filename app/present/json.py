"""A document as JSON, and its main table as CSV, for other programs.

`{"format": "graphlap-document", "version": 1, "blocks": [...]}`: a block is an object with its
`type`. A table has `columns` (`key`, `title`, `unit`, `kind`) and `rows`, objects by key. A cell of
a number is `{"value", "unit", "text"}`, where `value` is null for what has no number, with `low`
and `high` where it has an interval; a cell of a name is a text, or null. What is added later is a
new key or a new type. The document of a run has `run` before its blocks
(`run_facts` of `app/present/console/answer/document.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.cases.column import Value
from app.cases.errors import PlanError
from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Details,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    unfolded,
)
from app.present.figure import Figure
from app.run_folder.table import to_csv

FORMAT, VERSION = "graphlap-document", 1
Facts = Mapping[str, Any]
NO_FACTS: Facts = {}


def json_text(blocks: Iterable[Block], facts: Facts = NO_FACTS) -> str:
    """The document after `facts` of what it is about; text that is no Unicode is kept as escapes of
    JSON."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        **facts,
        "blocks": [as_object(block) for block in blocks],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def csv_text(blocks: Iterable[Block]) -> str:
    """The table marked as the main one, or the first; PlanError for a document without tables.

    A number is its value, without the unit that the header names; an interval has a column for
    each end.
    """
    tables = [block for block in unfolded(blocks) if isinstance(block, Table)]
    main = next((table for table in tables if table.is_main), next(iter(tables), None))
    if main is None:
        raise PlanError("csv: there is no table to write", "use another format")
    rows: list[dict[str, Value]] = [{} for _ in main.rows]
    header: list[str] = []
    for place, (key, column) in enumerate(zip(keys(main.columns), main.columns, strict=True)):
        cells = _column_cells(main, place)
        unit = _units(main, place)
        suffix = f" ({unit})" if unit and not column.unit else ""
        has_interval = any(cell.low is not None for cell in cells)
        columns: dict[str, Iterator[Value]] = {f"{key}{suffix}": map(_plain, cells)}
        if has_interval and all(cell.value is None for cell in cells):
            columns = {}
        if has_interval:
            columns[f"{key} low{suffix}"] = (finite(cell.low) for cell in cells)
            columns[f"{key} high{suffix}"] = (finite(cell.high) for cell in cells)
        for name, values in columns.items():
            header.append(name)
            for row, value in zip(rows, values, strict=True):
                row[name] = value
    return to_csv(rows, header).decode("utf-8")


def _column_cells(table: Table, place: int) -> list[Cell]:
    """The cells of a column."""
    return [_whole(row[place]) for row in table.rows]


def _whole(cell: Cell | str) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def keys(columns: Sequence[Column]) -> list[str]:
    """The keys or titles, a number after one that there is already."""
    unique: list[str] = []
    for column in columns:
        name = column.key or column.title
        title, number = name, 1
        while title in unique:
            number += 1
            title = f"{name} {number}"
        unique.append(title)
    return unique


def as_object(block: Block) -> dict[str, Any]:
    """A block as an object of JSON."""
    match block:
        case Heading(text, level):
            return {"type": "heading", "level": level, "text": text}
        case Paragraph(text, tone, counts):
            diagnostics = [{"code": code, "cases": cases} for code, cases in counts]
            return {
                "type": "paragraph",
                "text": text,
                **_tone(tone),
                **({"diagnostics": diagnostics} if diagnostics else {}),
            }
        case Points(sentences):
            return {"type": "list", "items": list(sentences)}
        case Note(label, text, tone, code):
            return {"type": "note", "code": code, "label": label, "text": text, **_tone(tone)}
        case Command(line, purpose):
            return {"type": "command", "line": line, "purpose": purpose}
        case Picture(file, description):
            return {"type": "picture", "file": file, "description": description}
        case Details(summary, inner):
            return {"type": "details", "summary": summary, "blocks": list(map(as_object, inner))}
        case Figure():
            return {"type": "figure", **asdict(block)}
        case Table():
            return _table(block)


def _table(table: Table) -> dict[str, Any]:
    names = keys(table.columns)
    columns = [
        {
            "key": key,
            "title": column.title,
            "unit": _units(table, place),
            "kind": "number" if _has_figures(table, place) else "name",
        }
        for place, (key, column) in enumerate(zip(names, table.columns, strict=True))
    ]
    rows = [
        {
            key: _cell(column, _whole(cell))
            for key, column, cell in zip(names, table.columns, row, strict=True)
        }
        for row in table.rows
    ]
    ids = {"row_ids": list(table.row_ids)} if table.row_ids else {}
    return {"type": "table", "caption": table.caption, "columns": columns, "rows": rows, **ids}


def _has_figures(table: Table, place: int) -> bool:
    """Whether it is a column of figures, though perhaps aligned as names are."""
    numbers = (isinstance(cell.value, int | float) for cell in _column_cells(table, place))
    return not table.columns[place].is_name or any(numbers)


def _units(table: Table, place: int) -> str:
    """The unit of the values of a column; "" where they have several."""
    cells = _column_cells(table, place)
    units = {cell.unit for cell in cells if cell.value is not None or cell.low is not None}
    return table.columns[place].unit or (units.pop() if len(units) == 1 else "")


def _cell(column: Column, cell: Cell) -> Any:
    text = cell.text.strip()
    if column.is_name and cell.value is None and cell.low is None:
        return text or None
    fields: dict[str, Value] = {"value": finite(cell.value)}
    if unit := cell.unit or column.unit:
        fields["unit"] = unit
    if cell.low is not None and cell.high is not None:
        fields |= {"low": finite(cell.low), "high": finite(cell.high)}
    return {**fields, "text": text, **_tone(cell.tone)}


def _tone(tone: str) -> dict[str, str]:
    return {"tone": tone} if tone else {}


def _plain(cell: Cell) -> Value:
    return cell.text.strip() if cell.value is None else finite(cell.value)


def finite(value: Value) -> Value:
    """The value; None for a number that JSON has no form of."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
