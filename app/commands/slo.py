"""`graphlap slo`: the highest rate of requests that keeps a target of latency."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_outputs, measure, with_models
from app.commands.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "--target",
        "--slo",
        dest="slo",
        metavar="P=TIME",
        required=True,
        help="the percentile and its limit, such as p99=5ms",
    )
    add_settings(parser, "slo", brief=True, apart=("slo",))
    add_outputs(parser, "slo")


def run(options: argparse.Namespace) -> int:
    """Search; returns the exit code."""
    return measure(with_models(options))
