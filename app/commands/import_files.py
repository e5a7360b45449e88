"""`graphlap import`: result files of other benchmarks as a run folder."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import format_of, print_document
from app.commands.stored import add_stored_outputs
from app.console.width import width_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and the run folder that they become."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[MODEL=]FILE",
        help="results of benchmark_app, onnxruntime_perf_test, trtexec, Polygraphy, LoadGen or "
        "pyperf",
    )
    add_stored_outputs(parser)


def run(options: argparse.Namespace) -> int:
    """Write and print the run."""
    from app.console.stored.importing import import_files

    format_of(options)
    return print_document(import_files(options, width_of(sys.stdout)), options)
