"""The command line as it was typed: its flags, and what of them can't be said together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from app.cases.errors import PlanError, suggestion
from app.plan.modes import options_beyond, refuse_mixed, refuse_repeated
from app.plan.parser import parser
from app.plan.settings.setting import Setting
from app.plan.settings.table import SETTINGS, accepted_by, names_of

_MODES = ("headless", "study", "debug")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags; PlanError for one that is not known."""
    known = parser()
    flags, rest = known.parse_known_args(arguments)
    if rest:
        names = [name for action in known._actions for name in action.option_strings]
        raise PlanError(f"{rest[0]} is not known", suggestion(rest[0].partition("=")[0], names))
    refuse_repeated(arguments)
    refuse_mixed(flags)
    if flags.study is not None:
        refuse_with_study(flags)
    if flags.markdown and flags.sort is not None:
        raise PlanError(
            "--sort has no effect: --markdown prints the comparison and no rows",
            "Leave out --sort or --markdown",
        )
    if flags.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, ["slower"])
        )
    return flags


def refuse_with_resume(flags: argparse.Namespace) -> None:
    """A resumed run repeats its own plan, so of that only the budget can be given anew, and where
    it is measured; PlanError for all else."""
    _refuse_but(accepted_by("resume"), flags, "the run in --resume", "resume")


def refuse_with_study(flags: argparse.Namespace) -> None:
    """A study says what it measures, and of a run that is there all is said; PlanError for more."""
    accepted = accepted_by("study")
    if flags.resume is not None:
        resumed = [row for row in accepted_by("resume") if row in accepted]
        of_the_run = [row for row in resumed if row.scope == "command"]
        _refuse_but(of_the_run, flags, "the run in --resume", "resume")
    elif flags.paths:
        _refuse_but((), flags, f"the run {flags.paths[0]}")
    else:
        _refuse_but(accepted, flags, f"the study {flags.study}")
    if len(flags.paths) > 1:
        raise PlanError(f"--study pages one run, and {len(flags.paths)} are named", "name one")


def refuse_with_check(flags: argparse.Namespace) -> None:
    """What a check does not read, such as what figures are compared with; PlanError."""
    others = names_of(SETTINGS) - names_of(accepted_by("check"))
    beyond = (name for name in vars(flags) if name not in others)
    for flag in options_beyond(frozenset(beyond), flags):
        raise PlanError(
            f"{flag} cannot be used with --check, which measures nothing", f"leave {flag} out"
        )


def refuse_with_run_as_plan(flags: argparse.Namespace) -> None:
    """A run that is repeated likewise; only where to is new."""
    _refuse_but(accepted_by("rerun"), flags, "the run in --plan", "plan")


def _refuse_but(
    accepted: Sequence[Setting], flags: argparse.Namespace, settler: str, *modes: str
) -> None:
    for flag in options_beyond(names_of(accepted) | {*_MODES, *modes}, flags):
        raise PlanError(f"{flag} says what {settler} has settled", "leave it out")
