"""The table at the end of a sweep: measured rows, and published figures under them.

What is the same in every row is told once, in the caption. Where there is no room for all
columns those go that matter least, and names are folded; figures never are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from app.cases.column import Row, Value
from app.cases.status import STATUSES, Tone
from app.console.row_columns import (
    SHOWN,
    TableColumn,
    all_columns,
    below_the_runtime,
    in_order,
    varied_and_common,
)
from app.console.tables import simple_table
from app.results.published import Published, published_for

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

STYLES: dict[Tone, str] = {"good": "green", "doubtful": "yellow", "bad": "red"}
_PUBLISHED = "dim"
_GAP = 2
_NAME_WIDTH = 24
"""A name may take so much before columns go for its sake."""
_SHORT_NAME = 12
"""A name is folded to this before what tells rows apart gives up its columns."""


def row_table(
    rows: Sequence[Row],
    marks: Mapping[str, str],
    width: int,
    sort: str = "",
    percentiles: Sequence[str] = SHOWN,
) -> Table:
    """A rich table of the rows, grouped by model in the plan's order, or as `sort` has them.

    `marks` are the numbers of the notes on a row, by its case id; a row with any is not shown
    as if all were well.
    """
    from rich.text import Text

    figures = {model: published_for(str(model)) for model in _models(rows)}
    told = [figure for some in figures.values() for figure in some]
    columns, caption = _fitting(rows, marks, told, width, percentiles)
    table = simple_table(caption=Text(caption), edge=False, padding=(0, _GAP - 1, 0, 0))
    for column in columns:
        justify: JustifyMethod = "right" if column.figure else "left"
        table.add_column(
            column.heading, justify=justify, no_wrap=bool(column.figure), overflow="fold"
        )
    for group in [in_order(rows, sort)] if sort else _models(rows).values():
        for row in group:
            cells = [Text(column.cell(row)) for column in columns]
            cells[-1].stylize(STYLES[_tone(row, marks)])
            table.add_row(*cells)
        for model in _models(group):
            for figure in figures[model]:
                table.add_row(*(Text(c.published(figure)) for c in columns), style=_PUBLISHED)
    return table


def _fitting(
    rows: Sequence[Row],
    marks: Mapping[str, str],
    published: Sequence[Published],
    width: int,
    percentiles: Sequence[str],
) -> tuple[list[TableColumn], str]:
    """The columns that there is room for, and the caption with what is the same in all rows."""
    varied, common = varied_and_common(rows)
    columns = all_columns(rows, marks, varied, bool(published), percentiles)
    widths = {column.heading: _width(column, rows, published) for column in columns}

    def fit(some: Sequence[TableColumn], name_width: int = _NAME_WIDTH) -> bool:
        own = (widths[c.heading] if c.figure else min(widths[c.heading], name_width) for c in some)
        return sum(own) + _GAP * (len(some) - 1) <= width

    sizes = {row["batch_size"] for row in rows}
    if not fit(columns) and len(sizes) == 1:
        columns = [column for column in columns if column.heading != "batch"]
        common += [f"batch {size}" for size in sizes if size is not None]
    kept = {0}
    for spare in sorted({column.spare for column in columns} - kept):
        if fit([column for column in columns if column.spare in kept | {spare}]):
            kept.add(spare)
    columns = [column for column in columns if column.spare in kept]
    if not fit(columns, _SHORT_NAME):
        columns = below_the_runtime(columns, varied)
    return columns, "every measured row: " + ", ".join(common) if common else ""


def _width(column: TableColumn, rows: Sequence[Row], published: Sequence[Published]) -> int:
    from rich.cells import cell_len

    cells = {column.heading, *map(column.cell, rows), *map(column.published, published)}
    return max(map(cell_len, cells))


def _tone(row: Row, marks: Mapping[str, str]) -> Tone:
    tone = next(facts.tone for name, facts in STATUSES.items() if name == row["status"])
    return "doubtful" if tone == "good" and str(row["case_id"]) in marks else tone


def _models(rows: Sequence[Row]) -> dict[Value, list[Row]]:
    """The rows of each model, in the order in which the models appear."""
    found: dict[Value, list[Row]] = {}
    for row in rows:
        found.setdefault(row["model"], []).append(row)
    return found
