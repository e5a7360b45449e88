"""`graphlap import`: a run folder made of results of other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.columns.rows import Rows
from app.console.answer.document import shown_blocks
from app.console.export_formats import export, formats_of
from app.console.row_table import sort_column
from app.present.document import Block
from app.runs.importing.foreign_run import cases_of, plan_of, read_foreign, write_run
from app.runs.union import named_path
from app.sweep.run_creation import new_path


def import_files(flags: argparse.Namespace, width: int) -> tuple[Block, ...]:
    """Write the run; what is shown of its rows, laid out for so many columns, and where it lies.

    Raises PlanError or ResultsError before anything is written.
    """
    formats = formats_of(flags.export)
    named = [named_path(word, "file") for word in flags.files]
    cases = cases_of([(name, read_foreign(path)) for name, path in named])
    plan = plan_of(cases)
    sort = sort_column(flags.sort, plan.percentiles) if flags.sort is not None else ""
    run = write_run(Path(flags.out) if flags.out else new_path(plan), cases)
    measurements = Rows().measured(run)
    export(run, formats, measurements=measurements)
    return shown_blocks(run, measurements, width, sort, verbose=flags.verbose)
