"""What a study's page is made of: said once, printed on a terminal and written as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` 1 is the page's own, 2 a section's."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences that are a list; none are nothing."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, to be copied."""

    line: str


@dataclass(frozen=True, slots=True)
class Column:
    """`group` is what stands above neighbouring columns, before each of their headings. Where there
    is no room for all, a table is told group by group; a column without one is told with each."""

    heading: str
    group: str = ""
    is_name: bool = False

    @property
    def title(self) -> str:
        return f"{self.group} {self.heading}".strip()


@dataclass(frozen=True, slots=True)
class Table:
    """Each row has a cell for each column; "" is an empty one."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A file beside the page; `told` says in words what is drawn."""

    file: str
    told: str


Block = Heading | Paragraph | Points | Command | Table | Picture


def within(block: Block, folder: str) -> Block:
    """The block on the page of a whole, of which its own page is a part in this folder."""
    match block:
        case Heading(level=level):
            return replace(block, level=level + 1)
        case Picture(file=file):
            return replace(block, file=f"{folder}/{file}")
    return block
