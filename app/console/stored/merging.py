"""`graphlap merge A B --out C`: runs of several machines, made apart, as one run folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cases.errors import PlanError
from app.console.damage import Shown
from app.console.exporting import export, formats_of
from app.console.hosts_together import write_together
from app.console.rates import write_rates
from app.console.row_columns import sort_column
from app.console.stored.show import shown_blocks
from app.plan.plan import Plan
from app.results.folder import RunFolder
from app.results.hosts_together import hosts_together
from app.results.merging.merge import merge
from app.results.merging.sources import Source, read_source
from app.results.plans_together import together as plans_together
from app.results.rates_found import rates_found
from app.results.rows import Rows
from app.sweep.begin import new_path


def merge_runs(flags: argparse.Namespace, width: int) -> Shown:
    """Make the run; what is shown of it, laid out for so many columns, and what damaged was left
    out.

    Raises PlanError or ResultsError before anything is written, DiskError if it can't be.
    """
    formats = formats_of(flags.export)
    sources = [_source(word) for word in flags.runs]
    asked = plans_together([part for source in sources for part in source.parts])
    sort = sort_column(flags.sort, asked.percentiles) if flags.sort is not None else ""

    def place(plan: Plan) -> Path:
        return Path(flags.out) if flags.out else new_path(plan)

    made = merge(sources, place)
    measured = Rows().measured(made.run)
    rates, together = rates_found(made.run), hosts_together(made.run, measured)
    if rates is not None or together:
        with RunFolder.reopen(made.run.path) as folder:
            if rates is not None:
                write_rates(folder, rates)
            write_together(folder, together)
    export(made.run, measured, formats)
    left_out = tuple(f"damaged and left out: {one}" for one in made.lost)
    return Shown(
        shown_blocks(made.run, measured, width, sort, made.sentences, flags.verbose), left_out
    )


def _source(word: str) -> Source:
    """A run folder, and the name of its host where one is given: `NAME=FOLDER`."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return read_source(Path(word))
    if not (name and path):
        raise PlanError(f"{word!r} names no folder", "write it as FOLDER or as NAME=FOLDER")
    return read_source(Path(path), name)
