"""`graphlap slo`: the highest rate of requests that keeps a target of latency."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_run_options, measure, with_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "--target",
        dest="slo",
        metavar="P=TIME",
        required=True,
        help="the percentile and its limit, such as p99=5ms",
    )
    add_run_options(parser, "slo", excluded_keys=("slo",))


def run(options: argparse.Namespace) -> int:
    """Search; returns the exit code."""
    return measure(with_models(options))
