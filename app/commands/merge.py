"""`graphlap merge`: runs of several machines, measured apart, as one run folder."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, add_verbose, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and the run folder that they become."""
    parser.add_argument(
        "runs", nargs="+", metavar="[NAME=]RUN", help="run folders; NAME is what the host is called"
    )
    add_settings(parser, "merge")
    add_format(parser)
    add_verbose(parser)


def run(options: argparse.Namespace) -> int:
    """Write and print the run; 1 if something damaged was left out."""
    from app.console.answer.derived_runs import merge_runs

    document = merge_runs(options, width_of(sys.stdout))
    return print_document(document.blocks, options, lines=document.damage) or document.code
