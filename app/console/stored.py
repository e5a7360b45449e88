"""A run folder that was made of what had been measured before: its rows, and where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from app.console.report import answer, listed
from app.console.row_columns import shown_percentiles
from app.results.folder import RESULTS
from app.results.measured import Measured
from app.results.plain import printable
from app.results.run import Run

if TYPE_CHECKING:
    from rich.console import RenderableType


def told_of(
    run: Run,
    measured: Sequence[Measured],
    width: int,
    sort: str = "",
    before: Iterable[str] = (),
    tables: Iterable[RenderableType] = (),
) -> str:
    """What is printed, in so many columns; sentences of how it was made come `before` the rows, as
    do `tables`."""
    from rich.console import Console

    out = StringIO()
    # Names are a user's: neither `[bold]` nor `:smile:` in one means anything.
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False)
    for sentence in before:
        console.print(listed("", sentence, ""))
    for table in tables:
        console.print(table)
        console.print()
    asked = run.manifest.asked
    percentiles = shown_percentiles(asked.percentiles)
    for part in answer(measured, width, sort, asked.band, percentiles=percentiles):
        console.print(part)
    console.print(printable(f"results: {run.path / RESULTS}"), soft_wrap=True)
    return out.getvalue()
