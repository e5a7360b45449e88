"""Batch mode: a plan or a run folder in, a run folder out, steered by signals and by lines."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from app.capabilities.registry import answers
from app.cases.column import Row
from app.cases.columns import parse_columns
from app.cases.errors import ResultsError, current_folder, unwritable
from app.cases.status import FAILED, INCOMPLETE, STRICT, Status
from app.comparison.aggregate_throughput import throughput_over_hosts
from app.comparison.measured_case import MeasuredCase
from app.console.answer.document import fit_to_screen, run_document
from app.console.answer.summary import RunResult, run_facts
from app.console.check import check_page
from app.console.export_formats import export, formats_of
from app.console.installing import make_missing
from app.console.output_files import write_output
from app.console.progress import Display, display_for
from app.console.regression_gate import SLOWER
from app.console.row_table import sort_column
from app.console.run_comparison import Comparer, comparer_of
from app.console.scaling import write_throughputs
from app.console.scenario_tables import gap_figures
from app.console.streams import ResilientStream, report, width_of, write_error_file
from app.console.verdicts import write
from app.formatting.case_labels import case_label, model_labels
from app.formatting.text import printable
from app.machine import installed_runtimes
from app.machine.child import take_steered
from app.machine.environment import describe_host
from app.machine.system import program_begun_s
from app.plan.command_line import explicit_settings, reject_with_check
from app.plan.exclusions import reject_without_effect
from app.plan.expand import reject_without_gaps
from app.plan.options import layers_of, layers_of_run, origin_of
from app.plan.plan import Plan
from app.plan.runtime_selection import environments_of
from app.plan.settings.table import by_key
from app.plan.validation import reject_misplaced
from app.plot_data.curves import idleness
from app.present.markdown import as_markdown
from app.present.svg import svg_document
from app.present.terminal import TABLE, write_formatted
from app.run_folder.folder import RESULTS, RunFolder
from app.run_folder.manifest import Manifest
from app.run_folder.run import Run
from app.sweep.resumption import started_in
from app.sweep.run import SweepRun, close_quietly
from app.sweep.run_creation import create_run, repeat
from app.sweep.scheduling.shares import Cluster, cluster_of
from app.sweep.work.share import BUNDLE
from app.tune.ablation import round_name
from exporters.child_setup import belong_to_parent
from exporters.diagnostics import catalogue


class Steering:
    """Signals and lines of `stdin`, turned into the sweep's method calls; None reads no lines.

    The first stop, however it comes, ends after the block in flight, the second at once.
    """

    def __init__(self, run: SweepRun, stdin: int | None = None) -> None:
        self._run = run
        self._signals = self._stop_lines = self._stops_heeded = 0
        self._stdin = stdin
        self._partial = b""
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Steering:
        if threading.current_thread() is not threading.main_thread():
            return self  # signals are the main thread's
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
            numbers.append(signal.SIGHUP)
        for number in numbers:
            self._previous[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """From now on signals do what they did before; idempotent."""
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, handler)  # type: ignore[arg-type]

    def heed(self) -> None:
        """Do what was asked since the last call."""
        for line in self._lines():
            if line == "pause":
                self._run.pause()
            elif line == "resume":
                self._run.resume()
            elif line == "stop":
                self._stop_lines += 1
        stops = self._signals + self._stop_lines
        if stops > self._stops_heeded:
            self._stops_heeded = stops
            self._run.stop(now=stops > 1)

    def _handle_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1

    def _lines(self) -> list[str]:
        if self._stdin is None or not select.select([self._stdin], [], [], 0)[0]:
            return []
        data = os.read(self._stdin, 4096)
        if not data:
            self._stdin = None
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [line.decode("utf-8", "replace").strip() for line in lines]


OK, FAILURE, INTERRUPTED = 0, 1, 130
STEP_S = 0.2
STDIN = 0
Then = Callable[[Run, Sequence[MeasuredCase]], int]
"""Is given the run as it ended, with its rows; returns an exit code."""


def run_plan(
    flags: argparse.Namespace, plan: Plan, manifest: Manifest | None, then: Then | None
) -> int:
    """Measure the plan of the flags, or what the run of `manifest` lacks; returns the exit code.

    Raises PlanError or ResultsError before anything is written.
    """
    is_steered = take_steered()
    if flags.resume is not None and Path(flags.resume, BUNDLE).is_file():
        belong_to_parent()  # the process that has the link to the run which this is a share of
    shell_folder = current_folder()  # that of the shell
    formats = formats_of(flags.export)
    make_missing(plan, flags.install)
    reject_without_effect(plan, explicit_settings(flags, "command"))
    sort = sort_column(flags.sort, plan.percentiles) if flags.sort is not None else ""
    columns = parse_columns(flags.columns, plan.percentiles) if flags.columns is not None else ()
    resumed = manifest if flags.resume is not None else None
    layers = (
        layers_of(flags) if manifest is None else layers_of_run(plan, flags.resume or flags.plan)
    )
    if plan.check:
        is_command = "check" in layers.plan_values
        reject_with_check(flags, "" if is_command else origin_of(by_key()["check"], layers))
    comparing = comparer_of(flags, plan, layers, resumed)
    if flags.plot is not None:
        reject_without_gaps(plan)
    with (
        started_in(manifest),
        cluster_of(plan) as cluster,
        _folder(flags, plan, manifest, cluster, comparing) as folder,
    ):
        return measure(
            folder,
            make_run=partial(SweepRun, cluster=cluster, columns=columns, start_s=program_begun_s()),
            strict=flags.strict,
            formats=formats,
            columns=columns,
            sort=sort,
            comparing=comparing,
            plot=flags.plot or "",
            form=flags.format,
            verbose=flags.verbose,
            log=ResilientStream(None) if flags.quiet else None,
            shell_folder=shell_folder,
            then=then,
            stdin=STDIN if is_steered else None,
        )


def measure(
    folder: RunFolder,
    *,
    strict: bool = False,
    formats: Sequence[str] = (),
    columns: Sequence[str] = (),
    sort: str = "",
    comparing: Comparer | None = None,
    plot: str = "",
    form: str = "table",
    verbose: bool = False,
    shell_folder: Path | None = None,
    then: Then | None = None,
    make_run: Callable[..., SweepRun] = SweepRun,
    out: TextIO | None = None,
    log: TextIO | None = None,
    stdin: int | None = None,
) -> int:
    """Measure what the folder lacks, show it, and report; the folder's end state is written.

    Lines from the descriptor `stdin` steer the run, if it is given. Commands in the answer are for
    a shell in the folder `shell_folder`; it is `verbose` if all rows and warnings are to be shown,
    and a document in the format `form`. Progress and notes go to `log`.
    """
    output_stream, errors = ResilientStream(out or sys.stdout), ResilientStream(sys.stderr)
    log = errors if log is None else ResilientStream(log)
    with make_run(folder, describe_host()) as run, Steering(run, stdin) as steering:
        _write_notes(run, log)
        display = display_for(run, log)
        try:
            _drive(run, steering, display)
        except ResultsError as error:  # the disk is full, or the folder was taken away
            display.close()
            close_quietly(run, FAILURE, error)
            report(str(error), errors)
            write_error_file(error)
            return FAILURE
        display.close()
        measurements = run.measured()
        run_answers = answers(run.run)
        result = RunResult(
            run.run,
            measurements,
            run.planned_rounds,
            (comparing or Comparer()).outcome_of(run.run, measurements),
            run_answers if run.stopped else tuple(answer.complete() for answer in run_answers),
            throughput_over_hosts(run.run, measurements),
            run.hosts_left_out,
            shell_folder,
        )
        code = _code_of(result, run.stopped, strict)
        _store(run, result, code, formats, columns)
        steering.release()  # all is kept, and what is left is to print it
        if then is not None and not (result.compared and result.compared.markdown):
            page_code = then(run.run, measurements)
            code = code or page_code
        else:
            facts = partial(run_facts, result, (code, _exit_reason(result, code, run.stopped)))
            _print(result, output_stream, sort, form, verbose, facts)
        output_stream.flush()
        if output_stream.has_lost_output:
            why = output_stream.fault.strerror if output_stream.fault else ""
            where = folder.path / RESULTS
            report(f"the table can't be printed ({why}): read {where}", errors)
        if result.compared is not None:
            write(result.compared.files)
        if plot and (curves := idleness(result.rows)):
            write_output(Path(plot), svg_document(gap_figures(curves)))
        elif plot:
            report(f"{plot} is not written: too few pauses were measured", errors)
        return code or int(output_stream.has_lost_output)


def _write_notes(run: SweepRun, log: ResilientStream) -> None:
    """What is known before anything is measured: damage and warnings."""
    models = model_labels(case.model for case in run.run.cases)
    for line in run.voided:
        label = case_label(run.cases[line.case_id], models)
        cause = catalogue.message(line.diagnostic) if line.diagnostic else line.reason
        log.write(printable(f"{label} {round_name(line.round)} is measured again: {cause}") + "\n")
    for note in filter(None, (*map(catalogue.text, run.warnings), run.kept_table)):
        log.write(f"{printable(note)}\n")


def _code_of(result: RunResult, is_stopped: bool, strict: bool) -> int:
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


def _store(
    run: SweepRun, result: RunResult, code: int, formats: Sequence[str], columns: Sequence[str]
) -> None:
    """Close the run and write what follows from it into its folder."""
    folder = run.folder
    try:
        run.close(code, result.rows)
        for name, data in chain.from_iterable(answer.files() for answer in result.answers):
            folder.write(name, data)
        write_throughputs(folder, result.throughputs)
        export(result.run, formats, columns, result.measured)
    except OSError as error:
        raise unwritable(folder.path, error, ", then resume it") from error


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


def _print(
    result: RunResult,
    output_stream: ResilientStream,
    sort: str,
    form: str,
    verbose: bool,
    facts: Callable[[], Mapping[str, Any]],
) -> None:
    """A comparison or a check as the Markdown that was asked for, else the run."""
    if result.compared is not None and result.compared.markdown:
        output_stream.write(result.compared.markdown)
    elif result.plan.check and form == "markdown":
        output_stream.write(as_markdown(check_page(result.run, result.measured)))
    else:
        width = width_of(output_stream)
        document = run_document(result, width, sort, verbose)
        is_short = form == TABLE and not verbose
        write_formatted(
            fit_to_screen(document, width) if is_short else document,
            form,
            output_stream,
            width,
            facts,
        )


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


def _drive(run: SweepRun, steering: Steering, display: Display) -> None:
    while not run.finished:
        display.show(run.step(STEP_S))
        steering.heed()


def _folder(
    flags: argparse.Namespace,
    plan: Plan,
    manifest: Manifest | None,
    cluster: Cluster | None,
    comparing: Comparer,
) -> RunFolder:
    """The folder to write to: a new one for a new plan, or the one to resume."""
    if manifest is not None:
        comparing.reject_useless(plan, manifest.cases, resumed=flags.resume is not None)
    if flags.resume is not None:
        if cluster is None:
            reject_misplaced(plan)
        environments_of(plan)
        installed_runtimes.refuse_unwritable()
        return RunFolder.reopen(Path(flags.resume), manifest)
    out = Path(flags.out) if flags.out else None
    if manifest is not None:
        return repeat(Path(flags.plan), out)
    return create_run(plan, out, cluster, comparing.reject_useless)
