"""`graphlap history`: each case over many runs, and when it changed."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, format_of, print_document
from app.commands.verdict_options import add_verdict_files, add_verdicts, refuse_verdict_options
from app.console.width import width_of
from app.plan.flag_words import share_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder of runs, and what counts as a change."""
    parser.add_argument("folder", metavar="DIR", help="the folder that the runs lie below")
    add_verdicts(parser)
    parser.add_argument(
        "--any-host", action="store_true", help="runs of all machines in one series"
    )
    add_verdict_files(parser, ("json", "csv", "plot"))
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the changes; by `--fail-on` 3 if a case became slower, 1 if the last is not judged."""
    from app.console.history import history

    format_of(options)
    refuse_verdict_options(options)
    found = history(
        options.folder,
        band=None if options.band is None else share_of(options.band, "--band"),
        any_host=options.any_host,
        fail_on_slower=options.fail_on == "slower",
    )
    found.write(json_path=options.json, csv_path=options.csv, plot_path=options.plot)
    writers = {
        "table": lambda: found.text(width_of(sys.stdout)),
        "json": found.json,
        "csv": found.csv,
    }
    lost = print_document(found.blocks(), options, writers)
    return lost or found.code
