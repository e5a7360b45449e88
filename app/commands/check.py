"""`graphlap check`: compile each case as far as this machine can, and time nothing."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_run_options, measure, with_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to compile and for which runtimes."""
    add_models(parser)
    add_run_options(parser, "check", excluded_keys=("check",))


def run(options: argparse.Namespace) -> int:
    """Check; returns the exit code."""
    options.check = True
    check_options = with_models(options)
    check_options.models_named = False  # runtimes that are not installed can be checked too
    return measure(check_options)
