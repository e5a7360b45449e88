"""Blocks on a terminal, as wide as it is: a table that does not fit is told in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from app.console.report import listed
from app.console.tables import simple_table
from app.results.plain import printable
from app.studies.blocks import Block, Column, Command, Heading, Paragraph, Picture, Points, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

_GAP = 2


def as_printed(blocks: Iterable[Block], width: int) -> Iterator[RenderableType]:
    """What rich prints; `width` is how many columns there are."""
    from rich.text import Text

    for block in blocks:
        match block:
            case Heading(text):
                yield Text(f"\n{printable(text)}", style="bold")
            case Paragraph(text):
                yield Text(printable(text))
            case Points(sentences):
                yield from (listed("-", sentence, "") for sentence in sentences)
            case Command(line):
                yield Text(f"  {printable(line)}")
            case Picture(file, told):
                yield Text(f"picture: {printable(file)}, {printable(told)}")
            case Table():
                for part in _parts(block, width):
                    yield _table(block, part)


def _table(table: Table, places: Sequence[int]) -> RenderableType:
    from rich.text import Text

    shown = simple_table(edge=False, padding=(0, _GAP, 0, 0))
    for place in places:
        column = table.columns[place]
        heading = Text("\n".join(filter(None, (printable(column.group), column.heading))))
        shown.add_column(heading, justify="left" if column.is_name else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(printable(row[place])) for place in places))
    return shown


def _parts(table: Table, width: int) -> Iterator[list[int]]:
    """The places of the columns of each part: as many whole groups as there is room for."""
    always = [place for place, column in enumerate(table.columns) if not column.group]
    groups: dict[str, list[int]] = {}
    for place, column in enumerate(table.columns):
        if column.group:
            groups.setdefault(column.group, []).append(place)
    widths = [_width(table, place, column) for place, column in enumerate(table.columns)]
    part = always
    for group in groups.values():
        wider = [*part, *group]
        if part != always and sum(widths[place] + _GAP for place in wider) > width:
            yield part
            wider = [*always, *group]
        part = wider
    yield part


def _width(table: Table, place: int, column: Column) -> int:
    from rich.cells import cell_len

    told = (column.group, column.heading, *(printable(row[place]) for row in table.rows))
    return max(map(cell_len, told))
