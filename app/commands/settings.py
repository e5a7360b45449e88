"""The settings of a plan as options of a command, and a namespace that has all of them."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from app.plan import command_line as arguments
from app.plan.command_line import parse
from app.plan.settings.table import accepted_by


def add_settings(
    parser: argparse.ArgumentParser,
    command: str,
    brief: bool = False,
    excluded_keys: Collection[str] = (),
) -> None:
    """Add the flags of the settings that a command accepts, but for the `excluded_keys`;
    with `brief` only the common ones are in its help."""
    rows = [setting for setting in accepted_by(command) if setting.key not in excluded_keys]
    arguments.add_settings(parser, rows, brief)


def with_all_settings(options: argparse.Namespace) -> argparse.Namespace:
    """The options, and of every setting that the command does not accept that it is not given."""
    return argparse.Namespace(**{**vars(parse([])), **vars(options)})
