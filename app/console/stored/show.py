"""`graphlap show`, and runs that are made of what was measured before: what is shown of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.console.answer.document import run_document
from app.console.answer.ended import ended_run
from app.console.comparing import Comparing
from app.console.damage import Shown, damage
from app.console.row_columns import sort_column
from app.console.time_spent import time_blocks
from app.present.document import Block
from app.results.measured import Measured
from app.results.rows import Rows
from app.results.run import Run
from app.results.verify import read_whole


def show(folder: str, width: int, sort: str | None, verbose: bool, times: bool = False) -> Shown:
    """What was printed when the run ended, of what is whole of it, or with `times` what its time
    was spent on. PlanError or ResultsError for a
    folder or a column that is none."""
    whole = read_whole(Path(folder))
    if times:
        return Shown(tuple(time_blocks(whole.run)), damage([whole]))
    column = sort_column(sort, whole.run.manifest.asked.percentiles) if sort is not None else ""
    measured = Rows().measured(whole.run)
    blocks = shown_blocks(whole.run, measured, width, column, verbose=verbose)
    return Shown(blocks, damage([whole]))


def shown_blocks(
    run: Run,
    measured: Sequence[Measured],
    width: int,
    sort: str = "",
    before: Iterable[str] = (),
    verbose: bool = False,
) -> tuple[Block, ...]:
    """The run, laid out for so many columns; sentences about how it was made come `before` the
    rest."""
    ended = ended_run(run, measured, Comparing().of(run, measured))
    return tuple(run_document(ended, width, sort, verbose, before))
