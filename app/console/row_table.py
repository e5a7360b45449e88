"""Every row of a run as a table: measured rows, and published figures under them.

What is the same in every row is in the caption. Where there is no room for all columns those go
that matter least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.cases.chosen_columns import column as column_of
from app.cases.column import Row, Value
from app.cases.status import TONES, Tone
from app.console.row_columns import SHOWN, TableColumn, all_columns, in_order, varied_and_common
from app.present.document import Cell, Column, Table
from app.results.folder import RESULTS
from app.results.published import published_for


def row_table(
    rows: Sequence[Row],
    marks: Mapping[str, str],
    sort: str = "",
    percentiles: Sequence[str] = SHOWN,
) -> Table:
    """The rows, grouped by model in the plan's order, or as `sort` has them.

    `marks` are the numbers of the notes on a row, by its case id; a row with any is not shown
    as if all were well.
    """
    figures = {model: published_for(str(model)) for model in _models(rows)}
    varied, common = varied_and_common(rows)
    columns = all_columns(rows, marks, varied, any(figures.values()), percentiles)
    sizes = {row["batch_size"] for row in rows}
    if len(sizes) == 1:
        columns = [column for column in columns if column.heading != "batch"]
        common += [f"batch {size}" for size in sizes if size is not None]
    cells: list[tuple[Cell, ...]] = []
    ids: list[str] = []
    for group in [in_order(rows, sort)] if sort else _models(rows).values():
        for row in group:
            told = [_cell(column, row) for column in columns]
            told[-1] = Cell(columns[-1].cell(row), tone=_tone(row, marks))
            cells.append(tuple(told))
            ids.append(str(row["case_id"]))
        for model in _models(group):
            for figure in figures[model]:
                cells.append(tuple(Cell(c.published(figure), tone="quiet") for c in columns))
                ids.append("")
    return Table(
        tuple(
            Column(column.heading, is_name=not column.figure, priority=column.spare)
            for column in columns
        ),
        tuple(cells),
        f"every measured row: {', '.join(common)}" if common and _is_measured(rows) else "",
        elsewhere=RESULTS,
        is_main=True,
        row_ids=tuple(ids),
    )


def _cell(column: TableColumn, row: Row) -> Cell:
    known_as = column_of(column.figure) if column.figure else None
    value = row[column.figure] if column.figure else None
    return Cell(column.cell(row), value, unit=known_as.unit if known_as else "")


def _is_measured(rows: Sequence[Row]) -> bool:
    return any(row["iterations"] for row in rows)


def _tone(row: Row, marks: Mapping[str, str]) -> Tone:
    tone = TONES[str(row["status"])]
    return "warning" if tone == "ok" and str(row["case_id"]) in marks else tone


def _models(rows: Sequence[Row]) -> dict[Value, list[Row]]:
    """The rows of each model, in the order in which the models appear."""
    found: dict[Value, list[Row]] = {}
    for row in rows:
        found.setdefault(row["model"], []).append(row)
    return found
