"""Documents in Markdown, with names escaped and tables that any viewer shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from app.formatting.text import printable
from app.present.document import (
    Block,
    Command,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    text_of,
    unfolded,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$@!]|:(?=//)|(?<=[wW]{3})\.)")
"""What may begin a format, a link, a tag, an entity, a formula or a mention; of an address, what
GitHub would make a link of."""
_LIST_MARKER = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
"""What would begin a list where the text begins a line."""


def escaped(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line."""
    line = _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
    return _LIST_MARKER.sub(r"\1\\\2", line)


def as_markdown(blocks: Iterable[Block]) -> str:
    """The page. Names are a user's: nothing in one is taken for Markdown or HTML."""
    parts = ("\n".join(_lines(block)) for block in unfolded(blocks))
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {escaped(text)}"
        case Paragraph(text):
            yield escaped(text)
        case Points(sentences):
            yield from (f"- {escaped(sentence)}" for sentence in sentences)
        case Note(label, text):
            yield f"- **{escaped(label)}**: {escaped(text)}"
        case Command(line, purpose):
            if purpose:
                yield f"{escaped(purpose)}:"
                yield ""
            yield f"```\n{line}\n```"
        case Picture(file, description):
            yield f"![{escaped(description)}]({quote(file)})"
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    yield _line(escaped(column.title) for column in table.columns)
    yield _line("---" if column.is_name else "---:" for column in table.columns)
    yield from (_line(escaped(text_of(cell)) for cell in row) for row in table.rows)
    if table.caption:
        yield ""
        yield escaped(table.caption)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
