"""`graphlap verify`: what is damaged in a run folder."""

from __future__ import annotations

import argparse

from app.commands.output import add_format, print_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run folder."""
    parser.add_argument("folder", metavar="RUN", help="the run folder")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print what is damaged; 1 if something is."""
    from app.console.verify import verify_folder

    report = verify_folder(options.folder)
    print_failure = print_document(report.blocks, options, {"table": lambda: report.text})
    return print_failure or report.code
