"""`graphlap noise`: an A/A test, each case against itself."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_run_options, measure, with_models

_COMPARISONS = "20"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many comparisons, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "-n",
        "--comparisons",
        "--aa",
        dest="aa",
        metavar="N",
        default=_COMPARISONS,
        help=f"comparisons of each case with itself ({_COMPARISONS})",
    )
    add_run_options(parser, "noise", excluded_keys=("aa",))


def run(options: argparse.Namespace) -> int:
    """Measure; returns the exit code."""
    return measure(with_models(options))
