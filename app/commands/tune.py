"""`graphlap tune`: the runtime and the options that are best by a goal."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_run_options, measure, with_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The goal, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "--goal",
        dest="tune",
        metavar="GOAL",
        required=True,
        help="p99, mean, throughput, or throughput@p99=10ms",
    )
    parser.add_argument(
        "--max-error", metavar="X", help="allowed output error, such as 2%%: precisions too"
    )
    add_run_options(
        parser,
        "tune",
        excluded_keys=(
            "tune",
            "max_error",
        ),
    )


def run(options: argparse.Namespace) -> int:
    """Search; returns the exit code."""
    return measure(with_models(options))
