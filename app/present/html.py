"""A document as the elements of an HTML page, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Heading,
    Note,
    Paragraph,
    Picture,
    Points,
    Table,
    text_of,
    tone_of,
)
from app.results.plain import printable


def safe(text: str) -> str:
    """Text that a page or a figure shows as it is; between dollars plotly would look for TeX."""
    return escape(printable(text)).replace("$", "&#36;")


def scrolled(label: str) -> str:
    """The beginning of what may be wider than the page, which a keyboard reaches and scrolls;
    `label` is escaped."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'


def as_html(blocks: Iterable[Block]) -> Iterator[str]:
    """The elements, block by block. Tables are whole: a page is as wide and as long as it needs."""
    label = "table"
    for block in blocks:
        match block:
            case Heading(text, level):
                label = safe(text)
                yield f"<h{level}>{label}</h{level}>\n"
            case Paragraph(text, tone):
                kind = f' class="{tone}"' if tone else ""
                yield f"<p{kind}>{safe(text)}</p>\n" if text else ""
            case Points(sentences):
                yield from _list(sentences)
            case Note(name, text, tone):
                yield f'<p><span class="{tone}">{safe(name)}</span>: {safe(text)}</p>\n'
            case Command(line, purpose):
                yield f"<p>{safe(purpose)}:</p>\n" if purpose else ""
                yield f'<pre tabindex="0"><code>{safe(line)}</code></pre>\n'
            case Picture(file, description):
                yield f'<img src="{safe(file)}" alt="{safe(description)}">\n'
            case Table():
                yield from _table(block, label)


def _list(sentences: tuple[str, ...]) -> Iterator[str]:
    """A paragraph of one sentence, a list of several."""
    if len(sentences) == 1:
        yield f"<p>{safe(sentences[0])}</p>\n"
    elif sentences:
        items = "".join(f"<li>{safe(sentence)}</li>\n" for sentence in sentences)
        yield f'<ul class="words">\n{items}</ul>\n'


def _table(table: Table, label: str) -> Iterator[str]:
    yield f"{scrolled(label)}<table>"
    if table.caption:
        yield f"<caption>{safe(table.caption)}</caption>"
    heads = (f'<th scope="col"{_kind(c)}>{safe(c.title)}</th>' for c in table.columns)
    yield f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n"
    for row in table.rows:
        cells = (_cell(column, cell) for column, cell in zip(table.columns, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></div>\n"


def _cell(column: Column, cell: Cell | str) -> str:
    """With its value, by which the page sorts."""
    value = cell.value if isinstance(cell, Cell) else None
    data = f' data-value="{escape(str(value))}"' if value is not None else ""
    return f"<td{_kind(column, tone_of(cell))}{data}>{safe(text_of(cell).strip())}</td>"


def _kind(column: Column, tone: str = "") -> str:
    words = " ".join(filter(None, ("" if column.is_name else "figure", tone)))
    return f' class="{words}"' if words else ""
