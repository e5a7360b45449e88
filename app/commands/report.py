"""`graphlap report`: one HTML page of run folders."""

from __future__ import annotations

import argparse

from app.commands.output import print_text
from app.commands.settings import add_settings
from app.console.verify import DAMAGED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and the page."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="[NAME=]RUN",
        help="run folders; several are one page, as one run where no two of them timed a case on "
        "one host, else each by itself, and two are compared; NAME is what the host of one is "
        "called",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page (report.html)"
    )
    add_settings(parser, "report")


def run(options: argparse.Namespace) -> int:
    """Write the page; 1 if something in a run is damaged."""
    from app.report.page import write_report

    damage = write_report(options.runs, options.output, options.history)
    print_failure = print_text(
        "".join(f"{line}\n" for line in (f"wrote {options.output}", *damage))
    )
    return print_failure or (DAMAGED if damage else 0)
