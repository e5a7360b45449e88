"""What a command does: one mode, the options that this mode reads, and how many paths it takes.

A command in two modes would do one of them and leave out the other without a word, and so would one
with an option that its mode does not read.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any

from app.cases.errors import PlanError
from app.plan.parser import parser
from app.plan.settings.setting import MEASURED
from app.plan.settings.table import accepted_by, names_of


@dataclass(frozen=True, slots=True)
class Mode:
    """`key` is the option that chooses it, `reads` are the others that it reads: those of its
    command in the table of settings, and a few of its own. `paths`: the most that it takes.
    `settler` is what has settled all else, as of runs that are there."""

    key: str
    flag: str
    reads: frozenset[str]
    paths: int = 0
    settler: str = ""
    measures: bool = False


def _mode(key: str, command: str, *reads: str, paths: int = 0, settler: str = "") -> Mode:
    flag = f"--{command if key == 'imports' else key.replace('_', '-')}"
    return Mode(key, flag, names_of(accepted_by(command)) | {*reads, key, "debug"}, paths, settler)


def _measuring(key: str, *commands: str, paths: int = 0) -> Mode:
    """What exactly it reads is looked at once its plan is known."""
    reads = names_of(row for command in commands for row in accepted_by(command))
    modes = {"headless", "study", "resume", "check", "debug"}
    return Mode(key, f"--{key}", reads | modes, paths, measures=True)


_MANY = 10**9
MODES = (
    _mode("list", "models", "format"),
    Mode("doctor", "--doctor", frozenset({"doctor", "debug", "environment", "cluster"})),
    _mode("install_desktop", "desktop"),
    _mode("cache_info", "cache", "cache_clear"),
    _mode("cache_clear", "cache", "cache_info"),
    _mode("compare", "compare", "history"),
    _mode("history", "history"),
    _mode("verify", "verify"),
    _mode("show", "show"),
    _mode("report", "report", "output"),
    _mode("imports", "import", "headless", settler="the measurement behind --import"),
    _mode("merge", "merge", "headless", settler="the runs behind --merge"),
    _measuring("study", "study", *MEASURED, paths=_MANY),
    _measuring("resume", *MEASURED),
    _measuring("check", "check", *MEASURED),
    _measuring("headless", *MEASURED, "check"),
)
"""In this order one is found; an option that is a mode may be read by another."""
_DOCTOR_OF_HOSTS = Mode(
    "doctor",
    "--doctor --cluster",
    frozenset({"doctor", "debug", "cluster", "insecure_cluster"}),
)
_EXPORT = _mode("export", "export", paths=_MANY)
"""Of stored runs; with a mode that measures, `--export` is an option of that."""
_WINDOW = Mode("", "the window", names_of(accepted_by("open")) | {"debug"}, _MANY)
_ALSO = {("study", "resume"), ("study", "headless"), ("resume", "headless"), ("check", "headless")}
"""Modes that go together: the first says what is done, the second how or of which run."""


def refuse_mixed(flags: argparse.Namespace) -> None:
    """PlanError for two modes in one command, for an option that its mode does not read, and for
    paths that it does not take."""
    asked = [mode for mode in MODES if _is_given(flags, mode.key)]
    for first, second in ((a, b) for a in asked for b in asked[asked.index(a) + 1 :]):
        if not _go_together(first, second):
            raise PlanError(
                f"{first.flag} and {second.flag} are two commands", "give them one after the other"
            )
    for mode in asked:
        if getattr(flags, mode.key) == "":
            raise PlanError(f"{mode.flag} has an empty value", "name a folder, or what it takes")
    stored = not asked and flags.export is not None and flags.paths
    mode = asked[0] if asked else _EXPORT if stored else _WINDOW
    if mode.key == "doctor" and flags.cluster:
        mode = _DOCTOR_OF_HOSTS
    for flag in options_beyond(mode.reads, flags):
        if mode.settler:
            raise PlanError(f"{flag} says what {mode.settler} has settled", "leave it out")
        owners = ", ".join(_owners(flag)) or "another command"
        raise PlanError(f"{flag} belongs to {owners}, not to {mode.flag}", "leave it out")
    if len(flags.paths) > mode.paths:
        _refuse_paths(mode, flags.paths)


def refuse_repeated(arguments: Sequence[str]) -> None:
    """PlanError for a command that is given twice, of which only the last would be done."""
    words = [word.partition("=")[0] for word in takewhile(lambda word: word != "--", arguments)]
    for mode in MODES:
        if words.count(mode.flag) > 1:
            raise PlanError(f"{mode.flag} is given twice", "give one command after the other")


def options_beyond(allowed: Collection[str], flags: argparse.Namespace) -> Iterator[str]:
    """The options of a command line that are not among these, as they are written."""
    for dest, option in _options().items():
        if dest not in allowed and _is_given(flags, dest):
            yield option.flag


def _is_given(flags: argparse.Namespace, dest: str) -> bool:
    default = _options()[dest].default
    return bool(getattr(flags, dest, default) != default)


@dataclass(frozen=True, slots=True)
class _Option:
    flag: str
    default: Any


@cache
def _options() -> Mapping[str, _Option]:
    """By the name of its value; made once, since a parser has a hundred of them."""
    options: dict[str, _Option] = {}
    for action in parser()._actions:
        if action.option_strings:
            options.setdefault(action.dest, _Option(action.option_strings[-1], action.default))
    return options


def _go_together(first: Mode, second: Mode) -> bool:
    if first.measures:
        return (first.key, second.key) in _ALSO
    return second.key in first.reads


def _owners(flag: str) -> Iterator[str]:
    (dest,) = (dest for dest, option in _options().items() if option.flag == flag)
    for mode in (*MODES, _EXPORT):
        of_a_plan = mode.measures and mode.key != "headless"
        if mode.key != dest and dest in mode.reads and not of_a_plan:
            yield mode.flag


def _refuse_paths(mode: Mode, paths: Collection[str]) -> None:
    first = next(iter(paths))
    if mode.measures:
        raise PlanError(
            f"{first} would be opened in the window, and none is asked for",
            "name models with --models, a plan with --plan",
        )
    raise PlanError(f"{mode.flag} takes no further path, and {first!r} is one", "leave it out")
