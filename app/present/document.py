"""A document: blocks as values, which every renderer understands, and figures as table blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.cases.column import Value
from app.formatting import text
from app.present.figure import Figure

Tone = Literal["", "ok", "warning", "error", "quiet"]


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` 1 is the page's own, 2 a section's."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`tone` "quiet" is an explanation that a reader may skip.

    `counts` are the codes of the diagnostics that the sentence counts, and in how many cases.
    """

    text: str
    tone: Tone = ""
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences that are a list; an empty one is not rendered."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence after a label, such as a status and its reason; `code` is what a program knows it
    by."""

    label: str
    text: str
    tone: Tone = "warning"
    code: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line to be copied; `purpose` is what it does, in a few words."""

    line: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, the value that it was made of, its colour, the value's unit unless the
    column has one, and the ends of an interval that the text has."""

    text: str
    value: Value = None
    tone: Tone = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of names or, unless `is_name`, of figures, which are right-aligned and never cut.

    `group` stands above neighbouring columns. A table that is too wide for a terminal has the
    columns of `priority` 0, and of the others the lowest numbers that there is room for. Where none
    has a priority it is shown group by group, with the columns of no group in each part. `has_bar`
    draws a bar before the column. `key` is what programs know the column by, the title by default.
    """

    heading: str
    group: str = ""
    is_name: bool = False
    unit: str = ""
    priority: int = 0
    has_bar: bool = False
    key: str = ""

    @property
    def title(self) -> str:
        """The group, the heading and the unit in one line."""
        unit = f"({self.unit})" if self.unit else ""
        return " ".join(filter(None, (self.group, self.heading, unit)))


@dataclass(frozen=True, slots=True)
class Table:
    """Each row has a cell for each column; "" is an empty one.

    A terminal shows the first `maximum_rows` of them (0: all) and says how many there are more, and
    that they are in `full_table`. `caption` stands below. A document has one `is_main` at most:
    what it is written as where there is room for one table. `row_ids` are the ids of the rows'
    cases, "" for a row of none; such a table can be filtered on a page, and figures follow. Where a
    terminal has no room for all columns, a table that `has_all_columns` goes on below with the
    others.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str = ""
    maximum_rows: int = 0
    full_table: str = ""
    is_main: bool = False
    row_ids: tuple[str, ...] = ()
    has_all_columns: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A file beside the page; `description` says in words what is drawn."""

    file: str
    description: str


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that a page shows only when they are asked for, under a heading of this level."""

    summary: str
    blocks: tuple[Block, ...]
    level: int = 2


Block = Heading | Paragraph | Points | Note | Command | Table | Picture | Figure | Details
"""A figure is in every document; a renderer without pictures shows those that have a table."""


def text_of(cell: Cell | str) -> str:
    """What a cell shows."""
    return cell.text if isinstance(cell, Cell) else cell


def tone_of(cell: Cell | str) -> Tone:
    """How a cell is coloured."""
    return cell.tone if isinstance(cell, Cell) else ""


def names(*headings: str) -> tuple[Column, ...]:
    """Columns of names."""
    return tuple(Column(heading, is_name=True) for heading in headings)


def table(
    columns: Iterable[Column], rows: Iterable[Sequence[Cell | str]], caption: str = ""
) -> Table:
    """A table of any sequences."""
    return Table(tuple(columns), tuple(map(tuple, rows)), caption)


def section(
    heading: str, columns: Iterable[Column], rows: Iterable[Sequence[Cell | str]], caption: str = ""
) -> Iterator[Block]:
    """A table below a heading of its own, within a part of the document."""
    yield Heading(heading, 3)
    yield table(columns, rows, caption)


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks in order, details as a heading and what is in them."""
    for block in blocks:
        if isinstance(block, Details):
            yield Heading(block.summary, block.level)
            yield from unfolded(block.blocks)
        else:
            yield block


def nest(block: Block, folder: str) -> Block:
    """The block on the page of a whole, of which its own page is a part in this folder."""
    match block:
        case Heading(level=level):
            return replace(block, level=level + 1)
        case Picture(file=file):
            return replace(block, file=f"{folder}/{file}")
        case Details(blocks=blocks, level=level):
            inner = tuple(nest(child, folder) for child in blocks)
            return replace(block, blocks=inner, level=level + 1)
    return block


def latency_cell(latency_us: float | None) -> Cell:
    """`24.1 µs`; `-` for a missing value."""
    return Cell(text.latency(latency_us), latency_us, unit="us")


def latency_interval_cell(low_us: float | None, high_us: float | None) -> Cell:
    """`24.05 to 24.31 µs`; a wide interval is not shown, and its ends are there."""
    return Cell(text.interval(low_us, high_us), unit="us", low=low_us, high=high_us)


def rate_cell(per_second: float | None) -> Cell:
    """`727/s`; `-` for a missing value."""
    return Cell(text.rate_text(per_second), per_second, unit="per_s")


def share_cell(value: float | None, digits: int = 0) -> Cell:
    """`12%`, with so many digits after the point; empty for a missing value."""
    return Cell("" if value is None else f"{value:.{digits}%}", value)


def amount_cell(number: float | None, unit: str = "") -> Cell:
    """`1.57 MB` of bytes, `98.3k` without a unit; empty for a missing value."""
    long_unit = "bytes" if unit == "B" else unit
    return Cell("" if number is None else text.amount(number, unit), number, unit=long_unit)


def count_cell(number: int | None) -> Cell:
    """`11,908`; `-` for a missing value."""
    return Cell(text.count(number), number)


def ratio_cell(value: float | None) -> Cell:
    """`1.43`; `-` for a missing value."""
    return Cell(text.NOT_MEASURED if value is None else text.significant(value), value)
