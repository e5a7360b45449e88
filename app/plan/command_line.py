"""All settings as options: read without a command, and what of them can't stand together."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from app.cases.errors import PlanError, suggestion
from app.cases.flag_parser import FlagParser
from app.plan.settings.arguments import add_settings
from app.plan.settings.setting import Setting
from app.plan.settings.table import SETTINGS, accepted_by

_NOT_GIVEN: tuple[object, ...] = (None, False, [])


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Every setting by the name of its value, as a run without a command has it, such as the part
    of a study; PlanError for a word that is no setting."""
    parser = FlagParser(prog="graphlap", allow_abbrev=False)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--study")
    parser.add_argument("--resume")
    parser.add_argument("--debug", action="store_true")
    parser.set_defaults(quiet=False, verbose=False, format="table", models_named=False)
    add_settings(parser, SETTINGS)
    options, rest = parser.parse_known_args(words)
    if rest:
        names = [name for setting in SETTINGS for name in setting.spellings]
        raise PlanError(f"{rest[0]} is not known", suggestion(rest[0].partition("=")[0], names))
    return options


def refuse_with_study(flags: argparse.Namespace) -> None:
    """A study says what it measures, and of a run that is there all is said; PlanError for more."""
    accepted = accepted_by("study")
    if flags.resume is not None:
        resumed = [row for row in accepted_by("resume") if row in accepted]
        of_the_run = [row for row in resumed if row.scope == "command"]
        _refuse_but(of_the_run, flags, "the run in --resume")
    elif flags.paths:
        _refuse_but((), flags, f"the run {flags.paths[0]}")
    if len(flags.paths) > 1:
        raise PlanError(f"a study pages one run, and {len(flags.paths)} are named", "name one")


def refuse_with_check(flags: argparse.Namespace) -> None:
    """What a check does not read, such as what figures are compared with; PlanError."""
    for flag in _given_beyond(accepted_by("check"), flags):
        raise PlanError(
            f"{flag} cannot be used with a check, which measures nothing", f"remove {flag}"
        )


def refuse_with_run_as_plan(flags: argparse.Namespace) -> None:
    """A run that is repeated has settled its plan; only where to is new."""
    rows = [row for row in SETTINGS if row.key == "plan"]
    _refuse_but([*accepted_by("rerun"), *rows], flags, "the run that is repeated")


def _refuse_but(accepted: Sequence[Setting], flags: argparse.Namespace, settler: str) -> None:
    for flag in _given_beyond(accepted, flags):
        raise PlanError(f"{flag} cannot be used with {settler}, which sets it", "remove it")


def _given_beyond(accepted: Sequence[Setting], flags: argparse.Namespace) -> Iterator[str]:
    """The flags of settings that were given and are not among these."""
    for setting in SETTINGS:
        if setting not in accepted and getattr(flags, setting.dest, None) not in _NOT_GIVEN:
            yield setting.flag
