"""`graphlap study`: a published study, measured again, and a page with its tables."""

from __future__ import annotations

import argparse

from app.commands.cache import limit_cache
from app.commands.settings import add_settings, with_all_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and a part of it or a run that is there."""
    parser.add_argument("study", metavar="NAME", help="vollo, neurio, dlmark, char-cnn, or a part")
    parser.add_argument("paths", nargs="*", metavar="RUN", help="write the page of a stored run")
    parser.add_argument("--resume", metavar="RUN", help="measure what this run still lacks")
    add_settings(parser, "study", brief=True)


def run(options: argparse.Namespace) -> int:
    """Measure and write the page; returns the exit code."""
    from app.plan.command_line import reject_with_study
    from app.study import run_study

    flags = with_all_settings(options)
    reject_with_study(flags)
    if options.cache_limit is not None:
        limit_cache(options.cache_limit, "--cache-limit")
    return run_study(flags)
