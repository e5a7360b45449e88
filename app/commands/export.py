"""`graphlap export`: stored runs in the formats of other programs."""

from __future__ import annotations

import argparse

from app.commands.output import print_text
from app.commands.settings import add_settings
from app.console.verify import DAMAGED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and the formats."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "-f",
        "--format",
        dest="formats",
        metavar="FORMAT,…",
        required=True,
        help="csv, json, markdown, parquet, hdr, trace",
    )
    add_settings(parser, "export")


def run(options: argparse.Namespace) -> int:
    """Write the files into the run folders; 1 if something in a run is damaged."""
    from app.console.export_formats import formats_of
    from app.console.exporting import export_stored

    lines, damage = export_stored(options.runs, formats_of(options.formats), options.columns)
    print_failure = print_text("".join(f"{line}\n" for line in (*lines, *damage)))
    return print_failure or (DAMAGED if damage else 0)
