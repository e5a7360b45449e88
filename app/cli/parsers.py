"""The parser of one command: its own options, those that every command has, and its errors.

An option or a path that a command does not take is refused here, with the nearest one that it does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import takewhile

from app.cases.errors import PlanError
from app.cli.output import format_of, output_group
from app.cli.table import BY_NAME, COMMANDS, Command
from app.plan.command_line import FlagParser
from exporters import install_layout
from exporters.diagnostics import listing

_WIDTH, _HELP_AT = 80, 26
_SEE = {
    "measure": (
        "every setting: graphlap help settings",
        "notations: graphlap help scenarios, conditions, names, exit-codes",
        "",
    )
}
"""Before the examples of a group of commands."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """`-f, --format FORMAT`, with the name of the value once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_HELP_AT, width=_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, action.dest.upper())
        return f"{', '.join(action.option_strings)} {value}"


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Every option and argument of a command."""
    examples = (f"  {line}" for line in command.examples)
    parser = FlagParser(
        prog=f"graphlap {command.name}",
        description=f"{command.summary[0].upper()}{command.summary[1:]}.",
        epilog="\n".join([*_SEE.get(command.group, ()), "examples:", *examples]),
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser._positionals.title = "arguments"
    parser._optionals.title = "options"
    install_layout.load(f"{command.module}:add_{command.name}")(parser)
    _add_common(parser)
    positional = (_usage(action) for action in parser._actions if not action.option_strings)
    parser.usage = " ".join([parser.prog, *positional, "[OPTION…]"])
    return parser


def parse(command: Command, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; PlanError for a word that the command does not take.

    With `-h` among the words, its help is printed and the process left, as argparse does it.
    """
    parser = parser_of(command)
    if {"-h", "--help"} & set(takewhile(lambda word: word != "--", words)):
        parser.print_help()
        parser.exit()
    options, rest = parser.parse_known_intermixed_args(words)
    if rest:
        raise _unknown_error(command, parser, rest[0])
    if "format" in options:
        format_of(options)
    for action in parser._actions:
        value = getattr(options, action.dest, None)
        values = value if isinstance(value, list) and not action.option_strings else [value]
        if "" in values and action.default != "":
            name = action.option_strings[-1] if action.option_strings else str(action.metavar)
            raise PlanError(f"{name}: the value is empty", f"See graphlap {command.name} --help")
    return options


def _usage(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else "|".join(action.choices or ())
    several = "…" if action.nargs in ("*", "+") else ""
    words = " ".join([name] * action.nargs) if isinstance(action.nargs, int) else name + several
    return f"[{words}]" if action.nargs in ("*", "?") else words


def _add_common(parser: argparse.ArgumentParser) -> None:
    group = output_group(parser)
    if "verbose" not in {action.dest for action in parser._actions}:
        group.add_argument(
            "-v", "--verbose", action="store_true", help="print more, where there is more"
        )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress, no notes")
    group.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR=1)")
    group.add_argument("--debug", action="store_true", help="show tracebacks")


def _unknown_error(command: Command, parser: argparse.ArgumentParser, word: str) -> PlanError:
    name, help_line = f"graphlap {command.name}", f"See graphlap {command.name} --help"
    if not word.startswith("-"):
        return PlanError(f"{word}: {name} takes no such argument", help_line)
    option = word.partition("=")[0]
    cause = f"{option}: {name} has no such option"
    if option.removeprefix("--") in BY_NAME:
        return PlanError(cause, "It is a command of its own: give one command after the other")
    matches = get_close_matches(option, _visible(parser), n=1, cutoff=0.75)
    owners = [f"graphlap {owner}" for owner in _owners(option)]
    if matches and not owners:
        return PlanError(cause, f"did you mean {matches[0]!r}?")
    if owners:
        return PlanError(cause, f"Remove it, or use {listing(owners[:4], 'or')}, which has it")
    return PlanError(cause, help_line)


def _visible(parser: argparse.ArgumentParser) -> list[str]:
    return [
        option
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    ]


def _owners(option: str) -> list[str]:
    """The commands that take an option, be it not in their help."""
    parsers = {c.name: parser_of(c) for c in COMMANDS}
    return [
        name
        for name, command_parser in parsers.items()
        if option in command_parser._option_string_actions
    ]
