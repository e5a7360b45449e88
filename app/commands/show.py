"""`graphlap show`: what a run printed when it ended."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import SEVERAL, add_format, add_verbose, format_of, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of
from app.present.terminal import TABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run folders, and how much of them."""
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help=SEVERAL)
    add_settings(parser, "show")
    add_format(parser)
    add_verbose(parser)


def run(options: argparse.Namespace) -> int:
    """Print the run; 1 if something in it is damaged."""
    from app.console.answer.document import show
    from app.console.answer.length import fit_to_screen

    width = width_of(sys.stdout)
    answer = show(options.runs, width, options.sort, options.verbose, options.time)
    is_short = format_of(options) == TABLE and not options.verbose and not options.time
    blocks = fit_to_screen(answer.blocks, width) if is_short else answer.blocks
    print_failure = print_document(blocks, options, lines=answer.damage, facts=answer.facts)
    return print_failure or answer.code
