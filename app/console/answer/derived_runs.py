"""`graphlap import` and `graphlap merge`: run folders made of results of other programs or runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.capabilities.slo_search.answer import rates_found
from app.cases.errors import PlanError
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import hosts_together
from app.console.answer.document import shown_blocks
from app.console.exporting import export, formats_of
from app.console.row_table import sort_column
from app.console.scaling import write_together
from app.console.searches import write_rates
from app.console.verify import Shown
from app.plan.plan import Plan
from app.present.document import Block
from app.run_folder.folder import RunFolder
from app.run_folder.hosts import together as plans_together
from app.runs.importing.foreign_run import cases_of, plan_of, read_foreign, write_run
from app.runs.merging.merge import merge
from app.runs.merging.sources import Source, read_source
from app.sweep.run_creation import new_path


def import_files(flags: argparse.Namespace, width: int) -> tuple[Block, ...]:
    """Write the run; what is shown of its rows, laid out for so many columns, and where it lies.

    Raises PlanError or ResultsError before anything is written.
    """
    formats = formats_of(flags.export)
    cases = cases_of([(name, read_foreign(path)) for name, path in map(_named, flags.files)])
    plan = plan_of(cases)
    sort = sort_column(flags.sort, plan.percentiles) if flags.sort is not None else ""
    run = write_run(Path(flags.out) if flags.out else new_path(plan), cases)
    measured = Rows().measured(run)
    export(run, measured, formats)
    return shown_blocks(run, measured, width, sort, verbose=flags.verbose)


def _named(word: str) -> tuple[str, Path]:
    """A file, and the name for its model where one is given: `NAME=FILE`."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return "", Path(word)
    if not (name and path):
        raise PlanError(f"{word!r} names no file", "write it as FILE or as NAME=FILE")
    return name, Path(path)


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
