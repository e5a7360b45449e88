"""`graphlap completion`: a script by shtab that completes commands, options and names in a shell.

It is made of the parsers, so that it has every option that the help shows, and of tables that no
engine is imported for. It calls nothing while it completes; make it anew after an update.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from app.cli.help import PAGES
from app.cli.output import print_text
from app.cli.parsers import parser_of
from app.cli.table import BY_NAME, COMMANDS
from app.plan.plan import named_lengths
from app.plan.plan_files import suite_names
from app.plan.studies import study_names
from app.present.console.export_formats import FORMATS as EXPORT_FORMATS
from app.present.console.regression_gate import GATES
from app.present.terminal import FORMATS
from exporters.models import catalogue
from exporters.types import PRECISIONS
from runtimes import registry

_SHELLS = ("bash", "zsh", "fish")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=_SHELLS, help="bash, zsh or fish")


def run_completion(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    whole = argparse.ArgumentParser(prog="graphlap")
    commands = whole.add_subparsers()
    for command in COMMANDS:
        parent = parser_of(command)
        part = commands.add_parser(
            command.name, help=command.summary, parents=[parent], add_help=False
        )
        for action in part._actions:
            words = action.choices or _values().get(action.dest)
            if words:
                action.choices = tuple(words)
            elif action.nargs != 0:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return print_text(shtab.complete(whole, options.shell))


def _values() -> Mapping[str, Sequence[str]]:
    """The values of options and arguments that have a closed set of them, by their names."""
    models = (*catalogue.names(), *suite_names())
    return {
        "named": models,
        "models": catalogue.names(),
        "suite": suite_names(),
        "runtimes": (*registry.names(), "all", "available"),
        "name": registry.names(),
        "precision": PRECISIONS,
        "preset": tuple(named_lengths()),
        "format": FORMATS,
        "formats": tuple(EXPORT_FORMATS),
        "export": tuple(EXPORT_FORMATS),
        "fail_on": GATES,
        "study": study_names(),
        "topic": (*PAGES, *BY_NAME),
    }
