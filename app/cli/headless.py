"""Batch mode: a plan or a run folder in, a run folder out, steered by signals and by lines."""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.cases.errors import ResultsError, current_folder
from app.machine.child import take_steered
from app.machine.environment import describe_host
from app.machine.system import program_begun_s
from app.plan.options import Layers
from app.plan.plan import Plan
from app.present.console.answer.outcome import FAILURE, RunOutput, Then, code_of, result_of
from app.present.console.progress import display_for, notes_of
from app.present.console.run_comparison import Comparer, comparer_of
from app.present.console.streams import ResilientStream, report, write_error_file
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import Manifest
from app.sweep.engine import Event
from app.sweep.resumption import started_in
from app.sweep.run import SweepRun, close_quietly
from app.sweep.run_creation import folder_of
from app.sweep.scheduling.shares import cluster_of
from app.sweep.steering import Steering
from app.sweep.work.share import end_with_link

STEP_S = 0.2
SHOW_S = 0.02
"""What is shown takes so long, and the rest of one event, before the next step."""


def run_plan(
    flags: argparse.Namespace,
    plan: Plan,
    layers: Layers,
    manifest: Manifest | None,
    then: Then | None,
) -> int:
    """Measure the plan of the flags, or what the run of `manifest` lacks; returns the exit code.
    `layers` gave the plan its values.

    Raises PlanError or ResultsError before anything is written.
    """
    is_steered = take_steered()
    if flags.resume is not None:
        end_with_link(Path(flags.resume))
    shell_folder = current_folder()  # that of the shell
    output = RunOutput.of(flags, plan, shell_folder)
    comparing = comparer_of(flags, plan, layers, manifest if flags.resume is not None else None)
    with (
        started_in(manifest),
        cluster_of(plan) as cluster,
        folder_of(flags, plan, manifest, cluster, comparing.reject_useless) as folder,
    ):
        make_run = partial(
            SweepRun, cluster=cluster, columns=output.columns, start_s=program_begun_s()
        )
        return measure(folder, output, comparing, then, make_run, 0 if is_steered else None)


def measure(
    folder: RunFolder,
    output: RunOutput | None = None,
    comparing: Comparer | None = None,
    then: Then | None = None,
    make_run: Callable[..., SweepRun] = SweepRun,
    stdin: int | None = None,
) -> int:
    """Measure what the folder lacks, show it, and report; the folder's end state is written.

    Lines from the descriptor `stdin` steer the run, if it is given. With `then` there is no answer
    of our own but a comparison's.
    """
    output = output or RunOutput()
    output_stream, errors = ResilientStream(output.out or sys.stdout), ResilientStream(sys.stderr)
    log = errors if output.log is None else ResilientStream(output.log)
    with make_run(folder, describe_host()) as run, Steering(run, stdin) as steering:
        log.writelines(notes_of(run))
        display = display_for(run, log)
        ended: deque[Event] = deque()
        try:
            while not run.finished:
                # What follows is started before what has ended is summarised and shown, bit by bit.
                events = run.step(0.0 if ended else STEP_S)
                shown_until_s = time.monotonic() + SHOW_S
                display.show([])
                while ended and time.monotonic() < shown_until_s:
                    display.show([ended.popleft()])
                steering.heed()
                ended += events
            display.show(ended)
        except ResultsError as error:  # the disk is full, or the folder was taken away
            display.close()
            close_quietly(run, FAILURE, error)
            report(str(error), errors)
            write_error_file(error)
            return FAILURE
        display.close()
        result = result_of(run, comparing or Comparer(), output.shell_folder)
        code = code_of(result, run.stopped, output.strict)
        output.store(run, result, code)
        steering.release()  # all is kept, and what is left is to print it
        if then is not None and not (result.compared and result.compared.markdown):
            page_code = then(run.run, result.measured)
            code = code or page_code
        else:
            output.print(result, output_stream, code, run.stopped)
        lost = output.finish(result, output_stream)
        return code or lost
