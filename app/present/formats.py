"""A document in the format that a user asked for: for a terminal, JSON, CSV or Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from app.present.document import Block
from app.present.terminal import write_document

FORMATS = ("table", "json", "csv", "markdown")
TABLE = FORMATS[0]


def write_formatted(blocks: Iterable[Block], form: str, out: TextIO, width: int) -> None:
    """Write the document; of a table for a terminal no line is wider than `width`."""
    if form == TABLE:
        write_document(blocks, out, width)
    else:
        out.write(formatted(blocks, form))


def formatted(blocks: Iterable[Block], form: str) -> str:
    """The text of a document for other programs; of CSV its main table."""
    if form == "json":
        from app.present.json import json_text

        return json_text(blocks)
    if form == "csv":
        from app.present.json import csv_text

        return csv_text(blocks)
    from app.present.markdown import as_markdown

    return as_markdown(blocks)
