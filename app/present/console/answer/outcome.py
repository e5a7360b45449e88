"""What becomes of a measured run: its exit code, the files that follow from it, what is printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Self, TextIO

from app.analysis.columns.table import parse_columns
from app.analysis.comparison.aggregate_throughput import throughput_over_hosts
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.plot_data.curves import idleness
from app.cases.column import Row
from app.cases.errors import unwritable
from app.cases.status import FAILED, INCOMPLETE, STRICT, Status
from app.plan.expand import reject_without_gaps
from app.plan.plan import Plan
from app.present.answer import answers
from app.present.console.answer.document import fit_to_screen, run_document, run_facts
from app.present.console.answer.summary import RunResult
from app.present.console.check import check_page
from app.present.console.export_formats import export, formats_of
from app.present.console.output_files import write_output
from app.present.console.regression_gate import SLOWER
from app.present.console.row_table import sort_column
from app.present.console.run_comparison import Comparer
from app.present.console.scaling import write_throughputs
from app.present.console.scenario_tables import gap_figures
from app.present.console.streams import ResilientStream, report, width_of
from app.present.console.verdicts import write
from app.present.svg import svg_document
from app.present.terminal import TABLE, as_markdown, write_formatted
from app.run_folder.folder import RESULTS
from app.run_folder.run import Run
from app.sweep.run import SweepRun

OK, FAILURE, INTERRUPTED = 0, 1, 130
Then = Callable[[Run, Sequence[MeasuredCase]], int]
"""Is given the run as it ended, with its rows; returns an exit code."""


def result_of(run: SweepRun, comparing: Comparer, shell_folder: Path | None) -> RunResult:
    """The run as it ended; a search that was not stopped has found what it can."""
    measurements, run_answers = run.measured(), answers(run.run)
    return RunResult(
        run.run,
        measurements,
        run.planned_rounds,
        comparing.outcome_of(run.run, measurements),
        run_answers if run.stopped else tuple(answer.complete() for answer in run_answers),
        throughput_over_hosts(run.run, measurements),
        run.hosts_left_out,
        shell_folder,
    )


@dataclass(frozen=True, slots=True)
class RunOutput:
    """What a command line asks to be made of its run.

    Commands in the answer are for a shell in the folder `shell_folder`. The answer has the format
    `form`, and is `verbose` if all rows and warnings are to be shown. It goes to `out`, by default
    the standard output, progress and notes go to `log`, by default the standard error.
    """

    strict: bool = False
    formats: Sequence[str] = ()
    columns: Sequence[str] = ()
    sort: str = ""
    plot: str = ""
    form: str = TABLE
    verbose: bool = False
    shell_folder: Path | None = None
    out: TextIO | None = None
    log: TextIO | None = None

    @classmethod
    def of(cls, flags: argparse.Namespace, plan: Plan, shell_folder: Path | None) -> Self:
        """PlanError for what the run of this plan can't give."""
        named = plan.percentiles
        if flags.plot is not None:
            reject_without_gaps(plan)
        return cls(
            flags.strict,
            formats_of(flags.export),
            parse_columns(flags.columns, named) if flags.columns is not None else (),
            sort_column(flags.sort, named) if flags.sort is not None else "",
            flags.plot or "",
            flags.format,
            flags.verbose,
            shell_folder,
            log=ResilientStream(None) if flags.quiet else None,
        )

    def store(self, run: SweepRun, result: RunResult, code: int) -> None:
        """Close the run and write what follows from it into its folder."""
        folder = run.folder
        try:
            run.close(code, result.rows)
            for name, data in chain.from_iterable(answer.files() for answer in result.answers):
                folder.write(name, data)
            write_throughputs(folder, result.throughputs)
            export(result.run, self.formats, self.columns, result.measured)
        except OSError as error:
            raise unwritable(folder.path, error, ", then resume it") from error

    def print(
        self, result: RunResult, output_stream: ResilientStream, code: int, is_stopped: bool
    ) -> None:
        """A comparison or a check as the Markdown that was asked for, else the run."""
        if result.compared is not None and result.compared.markdown:
            output_stream.write(result.compared.markdown)
        elif result.plan.check and self.form == "markdown":
            output_stream.write(as_markdown(check_page(result.run, result.measured)))
        else:
            width = width_of(output_stream)
            document = run_document(result, width, self.sort, self.verbose)
            is_short = self.form == TABLE and not self.verbose
            write_formatted(
                fit_to_screen(document, width) if is_short else document,
                self.form,
                output_stream,
                width,
                partial(run_facts, result, (code, _exit_reason(result, code, is_stopped))),
            )

    def finish(self, result: RunResult, output_stream: ResilientStream) -> int:
        """Write the files beside the run, and report what could not be printed: the exit code."""
        errors = ResilientStream(sys.stderr)
        output_stream.flush()
        if output_stream.has_lost_output:
            why = output_stream.fault.strerror if output_stream.fault else ""
            where = result.run.path / RESULTS
            report(f"the table can't be printed ({why}): read {where}", errors)
        if result.compared is not None:
            write(result.compared.files)
        if self.plot and (curves := idleness(result.rows)):
            write_output(Path(self.plot), svg_document(gap_figures(curves)))
        elif self.plot:
            report(f"{self.plot} is not written: too few pauses were measured", errors)
        return int(output_stream.has_lost_output)


def code_of(result: RunResult, is_stopped: bool, strict: bool) -> int:
    """The exit code of the rows, of an answer that has one, and of the comparison."""
    if is_stopped:
        return INTERRUPTED
    code = exit_code(
        result.rows, strict, frozenset[Status]().union(*(a.expected for a in result.answers))
    )
    for answer in result.answers:
        if answer.exit_code is not None and not strict:
            code = answer.exit_code
    outcome = result.compared
    if outcome is None:
        return code
    return SLOWER if outcome.code == SLOWER else code or outcome.code


def _exit_reason(result: RunResult, code: int, is_stopped: bool) -> str:
    """Why the exit code is what it is, in a word for programs."""
    if is_stopped or code == OK:
        return "interrupted" if is_stopped else "ok"
    if result.compared is not None and result.compared.code == code == SLOWER:
        return "slower"
    statuses = {row["status"] for row in result.rows}
    for word, some in (("failed", FAILED), ("not_run", INCOMPLETE), ("not_available", STRICT)):
        if statuses & some:
            return word
    return "not_judged" if result.compared is not None else "nothing_measured"


def exit_code(rows: Sequence[Row], strict: bool, expected: frozenset[Status] = frozenset()) -> int:
    """1 if a row failed or was not come to, or nothing was measured or, of a check, compiled; with
    `strict` also for what could not be run.

    `expected` statuses are an answer and no failure, as of a search for a limit.
    """
    bad = (FAILED | STRICT if strict else FAILED) - expected
    bad |= INCOMPLETE
    has_failures = any(row["status"] in bad for row in rows)
    # A check that came to something says how far.
    nothing = not expected and all(row["iterations"] is row["check_level"] is None for row in rows)
    return FAILURE if has_failures or nothing else OK
