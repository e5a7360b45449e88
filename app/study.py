"""`graphlap study NAME`: measure a study as a plan is measured, then print and write its page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from app.console.damage import DAMAGED, OK
from app.headless import run_headless
from app.plan.studies import load_study
from app.results.measured import Measured
from app.results.reader import read_run
from app.results.run import Run
from app.studies.found import Found, found_in, found_of, refuse_others
from app.studies.page import page
from app.studies.study import Study
from app.studies.table import study, whole
from app.studies.telling import told, written
from app.study_parts import run_parts


def run_study(flags: argparse.Namespace) -> int:
    """Measure what the flags ask for, or take the run that they name; returns the exit code.

    PlanError or ResultsError before anything is written.
    """
    parts = whole(flags.study)
    if parts is not None:
        return run_parts(parts, flags)
    asked, plan = study(flags.study), load_study(flags.study)
    if flags.paths:
        return tell(asked, found_in(Path(flags.paths[0]), plan, asked.one_host))
    if flags.resume is not None:
        # before it is gone on with
        refuse_others(read_run(Path(flags.resume)), plan)

    def then(run: Run, measured: Sequence[Measured]) -> int:
        return tell(asked, found_of(run, measured, plan, asked.one_host))

    return run_headless(flags, then)


def tell(asked: Study, found: Found) -> int:
    """Write the page into the run's folder and print it; DiskError if it can't be written."""
    paths = written(asked, found)
    return told(page(asked, found), paths) or (DAMAGED if found.damaged else OK)
