"""What a check came to: a word for each model on each runtime, and a line for each reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from app.cases.column import Row
from app.cases.status import STATUSES, WELL
from app.console.report import listed
from app.console.row_table import STYLES
from app.console.said import said
from app.console.tables import APART, simple_table
from app.results.checking import Matrix, matrix, word
from app.results.measured import Measured

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NOWHERE = "unavailable"
_GAP = 2
_NAMES_WIDTH = 24
"""Room that names have before runtimes go into a table of their own; longer ones fold."""
NO_FIGURE = "compile_ms of results.csv is no measurement: --cold-start tells what compiling takes"


def checked(measured: Sequence[Measured], width: int) -> Iterator[RenderableType]:
    """What is printed, part by part, `width` columns wide. A runtime that is not here has no
    column, only its reason."""
    from rich.text import Text

    rows = [one.row for one in measured]
    here = [one for one in measured if one.row["status"] != NOWHERE]
    if here:
        yield from _tables(matrix([one.case for one in here]), [one.row for one in here], width)
    told = said(measured)
    for doubt in told.doubts:
        yield listed("note", doubt, "yellow")
    for why in told.causes:
        yield listed(why.status, why.sentence, "bold")
    yield Text(summary(rows), style="bold")
    if any(row["status"] in WELL for row in rows):
        yield Text(NO_FIGURE)


def summary(rows: Sequence[Row]) -> str:
    """`12 cases: 9 compiles, 3 unsupported`, the best first."""
    counted = Counter(str(row["status"]) for row in rows)
    order = [name for name in reversed(STATUSES) if name in counted]
    told = ", ".join(f"{counted[name]} {name.replace('_', ' ')}" for name in order)
    return f"{len(rows)} case{'s' * (len(rows) != 1)}: {told}"


def words(found: Matrix, rows: Sequence[Row]) -> list[list[str]]:
    """The matrix's words by row and column, empty where there is no case."""
    cells = [[""] * len(found.columns) for _ in found.rows]
    for row in rows:
        down, across = found.places[str(row["case_id"])]
        cells[down][across] = word(str(row["status"]), row["checked_as"])
    return cells


def _tables(found: Matrix, rows: Sequence[Row], width: int) -> Iterator[Table]:
    """One below another where not all runtimes have room beside each other."""
    told = words(found, rows)
    widths = [
        max(min(len(name), _NAMES_WIDTH), *(len(w) for cells in told for w in cells[at].split()))
        for at, name in enumerate(found.columns)
    ]
    styles = {found.places[str(row["case_id"])]: _style(row) for row in rows}
    left = list(range(len(found.columns)))
    names_width = min(_NAMES_WIDTH, max(map(len, found.rows)))
    while left:
        room = width - names_width
        part: list[int] = []
        while left and (not part or widths[left[0]] + _GAP <= room):
            room -= widths[left[0]] + _GAP
            part.append(left.pop(0))
        yield _table(found, told, styles, part, widths)


def _table(
    found: Matrix,
    told: Sequence[Sequence[str]],
    styles: Mapping[tuple[int, int], str],
    part: Sequence[int],
    widths: Sequence[int],
) -> Table:
    """The columns of `part`."""
    from rich.text import Text

    table = simple_table(edge=False, padding=APART)
    names_width = min(_NAMES_WIDTH, max(map(len, found.rows)))
    table.add_column("model", overflow="fold", min_width=names_width)
    for at in part:
        table.add_column(found.columns[at], overflow="fold", min_width=widths[at])
    for down, (name, cells) in enumerate(zip(found.rows, told, strict=True)):
        styled = [Text(cells[at], styles.get((down, at), "")) for at in part]
        table.add_row(Text(name), *styled)
    return table


def _style(row: Row) -> str:
    return next(STYLES[fact.tone] for name, fact in STATUSES.items() if name == row["status"])
