"""`graphlap history`: each case over many runs, and when it changed."""

from __future__ import annotations

import argparse
import sys

from app.commands.output import add_format, print_document
from app.commands.settings import add_settings
from app.console.output_files import reject_outputs
from app.console.streams import width_of
from app.plan.command_line import explicit_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder of runs, and what counts as a change."""
    parser.add_argument("folder", metavar="DIR", help="the folder that the runs lie below")
    add_settings(parser, "history")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the changes; by `--fail-on` 3 if a case became slower, 1 if the last is not judged."""
    from app.console.history import history
    from app.console.verdicts import gate_of

    reject_outputs(options)
    report = history(
        options.folder,
        band=explicit_settings(options, "plan").get("band"),
        any_host=options.any_host,
        fail_on_slower=bool(gate_of(options, ("slower",))),
    )
    report.write(json_path=options.json, csv_path=options.csv, plot_path=options.plot)
    writers = {
        "table": lambda: report.text(width_of(sys.stdout)),
        "json": report.json,
        "csv": report.csv,
    }
    print_failure = print_document(report.blocks(), options, writers)
    return print_failure or report.code
