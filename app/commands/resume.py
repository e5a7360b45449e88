"""`graphlap resume`: measure what a run folder still lacks."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_outputs, measure
from app.commands.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run; of its plan only the budget can be given anew, and where it is measured."""
    parser.add_argument("resume", metavar="RUN", help="the run folder")
    add_settings(parser, "resume")
    add_outputs(parser, "resume")


def run(options: argparse.Namespace) -> int:
    """Measure; returns the exit code."""
    return measure(options)
