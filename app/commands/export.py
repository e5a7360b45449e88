"""`graphlap export`: stored runs in the formats of other programs."""

from __future__ import annotations

import argparse

from app.commands.output import SEVERAL, print_text
from app.commands.settings import add_settings
from app.console.verify import DAMAGED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, the formats, and where the files go."""
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help=SEVERAL)
    parser.add_argument(
        "-f",
        "--format",
        dest="formats",
        metavar="FORMAT,…",
        required=True,
        help="csv, json, markdown, parquet, hdr, trace",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="where the files go (the run folder); several runs need it",
    )
    add_settings(parser, "export")


def run(options: argparse.Namespace) -> int:
    """Write the files; 1 if something in a run is damaged."""
    from app.console.export_formats import formats_of
    from app.console.exporting import export_stored

    formats = formats_of(options.formats)
    lines, damage = export_stored(options.runs, formats, options.columns, options.output)
    print_failure = print_text("".join(f"{line}\n" for line in (*lines, *damage)))
    return print_failure or (DAMAGED if damage else 0)
