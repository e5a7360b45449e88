"""`graphlap import` and `graphlap merge`: run folders made of results of other programs or runs."""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from app.capabilities.registry import answers
from app.cases.errors import PlanError
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import throughput_over_hosts
from app.console.answer.document import shown_blocks
from app.console.export_formats import export, formats_of
from app.console.row_table import sort_column
from app.console.scaling import write_throughputs
from app.console.verify import RunDocument
from app.plan.plan import Plan
from app.present.document import Block
from app.run_folder.folder import RunFolder
from app.run_folder.hosts import merged_plan as plans_together
from app.runs.importing.foreign_run import cases_of, plan_of, read_foreign, write_run
from app.runs.merging.merge import merge
from app.runs.merging.sources import Source, read_source
from app.sweep.run_creation import new_path


def import_files(flags: argparse.Namespace, width: int) -> tuple[Block, ...]:
    """Write the run; what is shown of its rows, laid out for so many columns, and where it lies.

    Raises PlanError or ResultsError before anything is written.
    """
    formats = formats_of(flags.export)
    cases = cases_of([(name, read_foreign(path)) for name, path in map(_split_name, flags.files)])
    plan = plan_of(cases)
    sort = sort_column(flags.sort, plan.percentiles) if flags.sort is not None else ""
    run = write_run(Path(flags.out) if flags.out else new_path(plan), cases)
    measurements = Rows().measured(run)
    export(run, formats, measurements=measurements)
    return shown_blocks(run, measurements, width, sort, verbose=flags.verbose)


def _split_name(word: str) -> tuple[str, Path]:
    """A file, and the name for its model where one is given: `NAME=FILE`."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return "", Path(word)
    if not (name and path):
        raise PlanError(f"{word!r} names no file", "write it as FILE or as NAME=FILE")
    return name, Path(path)


def merge_runs(flags: argparse.Namespace, width: int) -> RunDocument:
    """Make the run; what is shown of it, laid out for so many columns, and what damaged was left
    out.

    Raises PlanError or ResultsError before anything is written, DiskError if it can't be.
    """
    formats = formats_of(flags.export)
    sources = [_source(word) for word in flags.runs]
    full_plan = plans_together([part for source in sources for part in source.parts])
    sort = sort_column(flags.sort, full_plan.percentiles) if flags.sort is not None else ""

    def place(plan: Plan) -> Path:
        return Path(flags.out) if flags.out else new_path(plan)

    merge_result = merge(sources, place)
    measurements = Rows().measured(merge_result.run)
    run_answers = answers(merge_result.run)
    throughputs = throughput_over_hosts(merge_result.run, measurements)
    if run_answers or throughputs:
        with RunFolder.reopen(merge_result.run.path) as folder:
            for name, data in chain.from_iterable(answer.files() for answer in run_answers):
                folder.write(name, data)
            write_throughputs(folder, throughputs)
    export(merge_result.run, formats, measurements=measurements)
    damage_lines = tuple(f"damaged and left out: {loss}" for loss in merge_result.damage)
    return RunDocument(
        shown_blocks(
            merge_result.run, measurements, width, sort, merge_result.sentences, flags.verbose
        ),
        damage_lines,
    )


def _source(word: str) -> Source:
    """A run folder, and the name of its host where one is given: `NAME=FOLDER`."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return read_source(Path(word))
    if not (name and path):
        raise PlanError(f"{word!r} names no folder", "write it as FOLDER or as NAME=FOLDER")
    return read_source(Path(path), name)
