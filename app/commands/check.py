"""`graphlap check`: compile each case as far as this machine can, and time nothing."""

from __future__ import annotations

import argparse

from app.commands.measuring import add_models, add_outputs, measure, with_models
from app.commands.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to compile and for which runtimes."""
    add_models(parser)
    add_settings(parser, "check", brief=True, apart=("check",))
    add_outputs(parser, "check")


def run(options: argparse.Namespace) -> int:
    """Check; returns the exit code."""
    options.check = True
    named = with_models(options)
    named.models_named = False  # runtimes that are not installed can be checked too
    return measure(named)
