"""`graphlap show`: what a run printed when it ended."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, add_verbose, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run folder, and how much of it."""
    parser.add_argument("folder", metavar="RUN", help="the run folder")
    add_settings(parser, "show")
    add_format(parser)
    add_verbose(parser)


def run(options: argparse.Namespace) -> int:
    """Print the run; 1 if something in it is damaged."""
    from app.console.answer.document import show

    width = width_of(sys.stdout)
    found = show(options.folder, width, options.sort, options.verbose, options.time)
    print_failure = print_document(found.blocks, options, lines=found.damage)
    return print_failure or found.code
