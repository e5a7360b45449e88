"""`graphlap import`: result files of other benchmarks as a run folder."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, add_verbose, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and the run folder that they become."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[MODEL=]FILE",
        help="results of benchmark_app, trtexec or pyperf",
    )
    add_settings(parser, "import")
    add_format(parser)
    add_verbose(parser)


def run(options: argparse.Namespace) -> int:
    """Write and print the run."""
    from app.console.answer.derived_runs import import_files

    return print_document(import_files(options, width_of(sys.stdout)), options)
