"""A document as the elements of an HTML page, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

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
    text_of,
    tone_of,
)
from app.present.figure import Figure
from app.present.svg import element, safe_text, svg

WIDE, NARROW = 960, 340
"""Pixels for which a figure is drawn; a style sheet shows one of both."""
MAXIMUM_ROWS = 1000
"""Of a table, and sentences of a list: more make a page slow to open."""


def as_html(blocks: Iterable[Block]) -> Iterator[str]:
    """The elements, block by block. A page is as wide as its tables need."""
    label = "table"
    for block in blocks:
        match block:
            case Heading(text, level):
                label = text
                yield element(f"h{level}", {}, safe_text(text)) + "\n"
            case Paragraph(text, tone):
                yield element("p", _classes(tone), safe_text(text)) + "\n" if text else ""
            case Points(sentences):
                yield from _list(sentences)
            case Note(name, text, tone):
                head = element("span", _classes(tone), safe_text(name))
                yield element("p", {}, f"{head}: {safe_text(text)}") + "\n"
            case Command(line, purpose):
                yield element("p", {}, f"{safe_text(purpose)}:") + "\n" if purpose else ""
                code = element("code", {}, safe_text(line))
                yield element("pre", {"tabindex": "0"}, code) + "\n"
            case Picture(file, description):
                yield element("img", {"src": file, "alt": description}) + "\n"
            case Details(summary, inner):
                head = element("summary", {}, safe_text(summary))
                yield element("details", {}, f"{head}\n{''.join(as_html(inner))}") + "\n"
            case Figure():
                yield _figure(block)
            case Table():
                yield from _table(block, label)


def _figure(figure: Figure) -> str:
    drawings = "".join(
        element("div", {"class": name}, svg(figure, width))
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )
    caption = element("figcaption", {}, safe_text(figure.title))
    return element("figure", {}, f"{caption}{drawings}") + "\n"


def _list(sentences: tuple[str, ...]) -> Iterator[str]:
    """A paragraph of one sentence, a list of several."""
    if len(sentences) == 1:
        yield element("p", {}, safe_text(sentences[0])) + "\n"
    elif sentences:
        lines = (element("li", {}, safe_text(text)) + "\n" for text in sentences[:MAXIMUM_ROWS])
        yield element("ul", {"class": "words"}, "\n" + "".join(lines)) + "\n"
    yield _rest(len(sentences))


def _rest(count: int, place: str = "") -> str:
    """How many of so many are not on the page, and where they are."""
    if count <= MAXIMUM_ROWS:
        return ""
    source = f" in {place}" if place else ""
    words = safe_text(f"... and {count - MAXIMUM_ROWS:,} more{source}")
    return element("p", {"class": "quiet"}, words) + "\n"


def _table(table: Table, label: str) -> Iterator[str]:
    """What may be wider than the page is scrolled by itself, with a keyboard too."""
    kind = ' class="cases"' if table.row_ids else ""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{safe_text(label)}">'
    yield f"<table{kind}>"
    figures = [place for place, column in enumerate(table.columns) if not column.is_name]
    has_warnings = any(tone_of(row[at]) == "warning" for row in table.rows for at in figures)
    notes = filter(None, ("amber: with warnings" * has_warnings, table.caption))
    if caption := "; ".join(notes):
        yield element("caption", {}, safe_text(caption))
    heads = (element("th", {"scope": "col"} | _kind(c), safe_text(c.title)) for c in table.columns)
    yield f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n"
    ids = table.row_ids or ("",) * len(table.rows)
    for row, case_id in islice(zip(table.rows, ids, strict=True), MAXIMUM_ROWS):
        pairs = enumerate(zip(table.columns, row, strict=True))
        cells = "".join(_cell(column, cell, place == 0) for place, (column, cell) in pairs)
        yield element("tr", {"data-case": case_id} if case_id else {}, cells) + "\n"
    yield "</tbody></table></div>\n"
    yield _rest(len(table.rows), table.full_table)


def _cell(column: Column, cell: Cell | str, is_first: bool) -> str:
    """With its value, by which the page sorts, and its column for a page too narrow for columns."""
    value = cell.value if isinstance(cell, Cell) else None
    text = text_of(cell).strip()
    attributes = _kind(column, tone_of(cell))
    if value is not None:
        attributes["data-value"] = f"{value:.9g}" if type(value) is float else str(value)
    if not is_first and column.title:
        attributes["data-label"] = column.title
    return element("td", attributes, safe_text(text)) if text else "<td></td>"


def _kind(column: Column, tone: str = "") -> dict[str, str]:
    return _classes(*("" if column.is_name else "figure", tone))


def _classes(*names: str) -> dict[str, str]:
    class_text = " ".join(filter(None, names))
    return {"class": class_text} if class_text else {}
