"""`graphlap compare`: two run folders, case by case."""

from __future__ import annotations

import argparse

from app.cases.verdict import BAND
from app.commands.output import add_format, format_of, print_document
from app.commands.verdict_options import add_verdict_files, add_verdicts, refuse_verdict_options
from app.plan.flag_words import share_of, words_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and what counts as a change."""
    parser.add_argument("runs", nargs=2, metavar="RUN", help="the run before, and the run after")
    add_verdicts(parser)
    parser.add_argument("--judge", metavar="LIST", help="figures to judge (p50,p99)")
    parser.add_argument(
        "--history",
        metavar="DIR",
        help="runs that show how far runs of this machine differ (those beside the two)",
    )
    add_verdict_files(parser, ("json", "junit"))
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the verdicts; 3 for a slower case and 1 for one without a verdict, by `--fail-on`."""
    from app.console import verdicts
    from app.console.compare import compare
    from app.console.gate import code

    format_of(options)
    refuse_verdict_options(options)
    fails = options.fail_on == "slower"
    band = BAND if options.band is None else share_of(options.band, "--band")
    judge = words_of(options.judge, "--judge")
    found = compare(*options.runs, band=band, past=options.history, judge=judge)
    wanted = verdicts.Wanted(
        fail_on_slower=fails, json_path=options.json or "", junit_path=options.junit or ""
    )
    verdicts.write(verdicts.files(found, wanted))
    writers = {
        "json": lambda: verdicts.json_text(verdicts.as_json(found, fails)),
        "markdown": lambda: verdicts.as_markdown(found, fails),
    }
    lost = print_document(verdicts.comparison_blocks(found, fails), options, writers)
    return lost or code(found, fails)
