"""`graphlap models`: the catalogue."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, format_of, print_document
from app.console.width import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which of them."""
    parser.add_argument("--suite", metavar="NAME", help="only the models of this suite")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print them."""
    from app.console.listing import as_csv, as_json, as_table, as_text, models_of

    format_of(options)
    rows = models_of(options.suite)
    writers = {
        "table": lambda: as_text(rows, width_of(sys.stdout)),
        "json": lambda: as_json(rows),
        "csv": lambda: as_csv(rows),
    }
    return print_document([as_table(rows)], options, writers)
