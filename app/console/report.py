"""The answer at the end of a run: the rows, what to doubt in them, why some are missing, what to
look at, and which runtime is the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cases.verdict import BAND
from app.console.comparing import Outcome
from app.console.row_columns import SHOWN
from app.console.row_table import row_table
from app.console.said import FASTEST, SURE, said
from app.results.measured import Measured
from app.results.noticing.noticed import HEADING
from app.results.plain import printable

if TYPE_CHECKING:
    from rich.console import RenderableType


def answer(
    measured: Sequence[Measured],
    width: int,
    sort: str = "",
    band: float = BAND,
    compared: Outcome | None = None,
    percentiles: Sequence[str] = SHOWN,
) -> Iterator[RenderableType]:
    """What is printed, part by part; `width` is how many columns there are.

    Cases that were never begun are told in one line and have none in the table. `compared` is
    what a comparison came to, if one was asked for; a change within `band` is none.
    """
    told = said(measured, band)
    if told.begun:
        yield row_table(told.begun, told.marks, width, sort, percentiles)
    for number, doubt in enumerate(told.doubts, 1):
        yield listed(f"{number}", doubt, "yellow")
    for why in told.causes:
        yield listed(why.status, why.sentence, "bold")
    if compared is not None:
        yield from _under(compared.heading, compared.lines)
    for heading, sentences in (
        (HEADING, told.noticed),
        (FASTEST, told.fastest),
        (SURE, told.sure),
    ):
        if sentences:
            yield from _under(heading, sentences)


def listed(mark: str, sentence: str, style: str) -> RenderableType:
    """A line that goes on under its own beginning."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), Text(printable(sentence)))
    return grid


def _under(heading: str, sentences: Sequence[str]) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text(printable(heading), style="bold")
    for sentence in sentences:
        yield listed("", sentence, "")
