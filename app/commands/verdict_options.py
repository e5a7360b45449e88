"""The options of commands that judge: what is a change, what a job fails by, and files for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from app.cases.errors import PlanError, suggestion

_FILES = {
    "json": "write what was found as JSON",
    "junit": "write the verdicts as JUnit XML",
    "csv": "write the figures of each run as CSV",
    "plot": "draw the figures as SVG",
}


def add_verdicts(parser: argparse.ArgumentParser) -> None:
    """The equivalence margin, and what the exit code depends on."""
    parser.add_argument(
        "--threshold", "--band", dest="band", metavar="P", help="smallest change that counts (2%%)"
    )
    parser.add_argument(
        "--fail-on", metavar="slower", help="exit 3 if a case is slower, 1 if one can't be judged"
    )


def add_verdict_files(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    """Files that are written beside what is printed."""
    for name in names:
        parser.add_argument(f"--{name}", metavar="FILE", help=_FILES[name])


def refuse_verdict_options(options: argparse.Namespace) -> None:
    """PlanError for a gate that does not exist, and for files that can't be written."""
    if options.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {options.fail_on} is not known", suggestion(options.fail_on, ["slower"])
        )
    if any(getattr(options, name, None) is not None for name in _FILES):
        from app.console.output_files import refuse_outputs

        refuse_outputs(options)
