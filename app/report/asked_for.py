"""What a plan asked for beside its rows, in the sections of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.console.comparing import Comparing
from app.console.extras import extra_tables
from app.console.ladder import ladder_tables
from app.console.rates import rate_tables
from app.present.document import Block, Heading
from app.results.measured import Measured
from app.results.rates_found import rates_found
from app.results.run import Run
from app.results.tune_answer import tunes_found

_WIDTH = 200
"""Columns of a terminal in which no table leaves anything out."""


def searched(run: Run) -> Iterator[Block]:
    """The ladder of a search over options, the steps of one for a rate, each with sentences that
    say what it came to and how far to trust it."""
    tunes, rates = tunes_found(run), rates_found(run)
    if tunes is None and rates is None:
        return
    yield Heading("What was searched for, and found")
    if tunes is not None:
        yield from ladder_tables(tunes)
    if rates is not None:
        yield from rate_tables(rates)


def asked_for(run: Run, measured: Sequence[Measured]) -> Iterator[Block]:
    """What the run was compared with, then the largest batches, cold starts, operators and more;
    nothing of a plan that asked for none."""
    outcome = Comparing().of(run, measured)
    if outcome is not None:
        yield from outcome.blocks
    tables = list(extra_tables(run, [one.row for one in measured], _WIDTH))
    if tables:
        yield Heading("What was asked for besides")
        yield from tables
