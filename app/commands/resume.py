"""`graphlap resume`: measure what a run folder still lacks."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_run_options, measure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run; of its plan only the budget can be given anew, and where it is measured."""
    parser.add_argument("resume", metavar="RUN", help="the run folder")
    add_run_options(parser, "resume", brief=False)


def run(options: argparse.Namespace) -> int:
    """Measure; returns the exit code."""
    return measure(options)
