"""`graphlap models`: the catalogue."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which of them."""
    add_settings(parser, "models")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print them."""
    from app.console.catalogue import as_csv, as_json, as_table, as_text, models_of

    rows = models_of(options.suite)
    writers = {
        "table": lambda: as_text(rows, width_of(sys.stdout)),
        "json": lambda: as_json(rows),
        "csv": lambda: as_csv(rows),
    }
    return print_document([as_table(rows)], options, writers)
