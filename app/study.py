"""`--study NAME`: measure a study as batch mode measures a plan, then print and write its page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.cases.errors import DiskError
from app.console.lasting import Lasting
from app.console.width import width_of
from app.headless import run_headless
from app.plan.studies import load_study
from app.results.plain import printable
from app.studies.found import Found, found_in
from app.studies.page import page, write_page
from app.studies.printed import as_printed
from app.studies.study import Study
from app.studies.table import study


def run_study(flags: argparse.Namespace) -> int:
    """Measure what the flags ask for, or take the run that they name; returns the exit code.

    PlanError or ResultsError before anything is written.
    """
    asked, plan = study(flags.study), load_study(flags.study)
    if flags.paths:
        return tell(asked, found_in(Path(flags.paths[0]), plan))
    if flags.resume is not None:
        found_in(Path(flags.resume), plan)  # refuses another's run before it is gone on with
    return run_headless(flags, then=lambda folder: tell(asked, found_in(folder, plan)))


def tell(asked: Study, found: Found) -> int:
    """Write the page into the run's folder and print it; DiskError if it can't be written."""
    from rich.console import Console

    try:
        names = list(write_page(asked, found))
    except OSError as error:
        raise DiskError(f"{found.run.path} can't be written ({error.strerror})") from error
    out = Lasting(sys.stdout)
    width = width_of(out)
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False)
    for part in as_printed(page(asked, found), width):
        console.print(part)
    for name in names:
        console.print(printable(f"wrote {found.run.path / name}"), soft_wrap=True)
    out.flush()
    return int(out.lost)
