"""What a plan asked for beside its rows, as the terminal tells it: rich's tables as a page's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.console.comparing import Comparing
from app.console.extras import extra_tables
from app.console.ladder import ladder_tables
from app.console.rates import rate_tables
from app.report.shown import safe, scrolled
from app.results.measured import Measured
from app.results.rates_found import rates_found
from app.results.run import Run
from app.results.tune_answer import tunes_found

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Column, Table

_WIDTH = 200
"""Columns of a terminal in which no table leaves anything out."""


def searched(run: Run) -> Iterator[str]:
    """The ladder of a search over options, the steps of one for a rate, each with sentences that
    say what it came to and how far to trust it."""
    tunes, rates = tunes_found(run), rates_found(run)
    parts = [*(ladder_tables(tunes) if tunes else ()), *(rate_tables(rates) if rates else ())]
    if parts:
        yield "<h2>What was searched for, and found</h2>\n"
        for part in parts:
            yield from _as_html(part)


def besides(run: Run, measured: Sequence[Measured]) -> Iterator[str]:
    """What the run was compared with, then the largest batches, cold starts, operators and more;
    nothing of a plan that asked for none."""
    outcome = Comparing().of(run, measured)
    if outcome is not None and outcome.lines:
        yield f"<h2>{safe(outcome.heading[:1].upper() + outcome.heading[1:])}</h2>\n"
        yield from _list(outcome.lines)
    rows = [one.row for one in measured]
    tables = list(extra_tables(run, rows, _WIDTH))
    if tables:
        yield "<h2>What was asked for besides</h2>\n"
        for table in tables:
            yield from _as_html(table)


def _as_html(part: RenderableType) -> Iterator[str]:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if isinstance(part, Group):  # a title, its table, and what is to be said of it
        title, *others = part.renderables
        for own in others:
            if isinstance(own, Table):
                yield from _table(own, _plain(title))
            else:
                yield from _as_html(own)
    elif isinstance(part, Table):
        yield from _table(part, _plain(part.title))
    elif isinstance(part, Text):
        yield from _list([line for line in part.plain.splitlines() if line])
    else:
        raise TypeError(f"the page has no form for {type(part).__name__}")


def _list(sentences: Sequence[str]) -> Iterator[str]:
    """A paragraph of one sentence, a list of several."""
    if len(sentences) == 1:
        yield f"<p>{safe(sentences[0])}</p>\n"
    elif sentences:
        items = "".join(f"<li>{safe(sentence)}</li>\n" for sentence in sentences)
        yield f'<ul class="words">\n{items}</ul>\n'


def _table(table: Table, title: str) -> Iterator[str]:
    caption = _plain(table.caption)
    if title:
        yield f"<h3>{safe(title)}</h3>\n"
    yield f"{scrolled(safe(title or 'table'))}<table>"
    if caption:
        yield f"<caption>{safe(caption)}</caption>"
    yield "<thead><tr>"
    for column in table.columns:
        yield f'<th scope="col"{_kind(column)}>{safe(" ".join(_plain(column.header).split()))}</th>'
    yield "</tr></thead>\n<tbody>\n"
    kinds = [_kind(column) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        yield "<tr>"
        for kind, cell in zip(kinds, cells, strict=True):
            yield f"<td{kind}>{safe(_plain(cell))}</td>"
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _kind(column: Column) -> str:
    return ' class="figure"' if column.justify == "right" else ""


def _plain(text: RenderableType | None) -> str:
    from rich.text import Text

    return text.plain if isinstance(text, Text) else str(text or "")
