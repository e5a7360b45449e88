"""`graphlap compare`: two run folders, case by case."""

from __future__ import annotations

import argparse

from app.cases.objectives import BAND
from app.commands.output import add_format, print_document
from app.commands.settings import add_settings
from app.console.output_files import refuse_outputs
from app.plan.command_line import given_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and what counts as a change."""
    parser.add_argument("runs", nargs=2, metavar="RUN", help="the run before, and the run after")
    add_settings(parser, "compare")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the verdicts; 3 for a slower case and 1 for one without a verdict, by `--fail-on`."""
    from app.console import verdicts
    from app.console.regression_gate import code
    from app.console.run_comparison import compare

    refuse_outputs(options)
    fails = verdicts.gate_of(options)
    given = given_settings(options, "plan")
    found = compare(
        *options.runs,
        band=given.get("band", BAND),
        past=options.history,
        judge=given.get("judge", ()),
    )
    verdicts.write(verdicts.files(found, verdicts.wanted_of(options)))
    writers = {
        "json": lambda: verdicts.json_text(verdicts.as_json(found, fails)),
        "markdown": lambda: verdicts.as_markdown(found, fails),
    }
    lost = print_document(verdicts.comparison_blocks(found, fails), options, writers)
    return lost or code(found, fails)
