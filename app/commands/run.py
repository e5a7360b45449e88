"""`graphlap run`: measure models, a suite, a plan, or once more what a run measured."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_run_options, measure, with_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, how, and where to; the help has the settings that are used most."""
    add_models(parser)
    add_run_options(parser, "run")


def run(options: argparse.Namespace) -> int:
    """Measure; returns the exit code."""
    return measure(with_models(options))
