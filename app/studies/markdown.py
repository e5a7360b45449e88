"""Blocks as a page in Markdown, the tables of which any viewer shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from app.console.escaped import escaped
from app.studies.blocks import Block, Command, Heading, Paragraph, Picture, Points, Table


def as_markdown(blocks: Iterable[Block]) -> str:
    """The page. Names are a user's: nothing in one is taken for Markdown or HTML."""
    parts = ("\n".join(_lines(block)) for block in blocks)
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {escaped(text)}"
        case Paragraph(text):
            yield escaped(text)
        case Points(sentences):
            yield from (f"- {escaped(sentence)}" for sentence in sentences)
        case Command(line):
            yield f"```\n{line}\n```"
        case Picture(file, told):
            yield f"![{escaped(told)}]({quote(file)})"
        case Table(columns, rows):
            yield _line(escaped(column.title) for column in columns)
            yield _line("---" if column.is_name else "---:" for column in columns)
            yield from (_line(map(escaped, row)) for row in rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
