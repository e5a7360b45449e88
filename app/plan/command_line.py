"""The command line as it was typed: its flags, and what of them can't be said together."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence

from app.cases.errors import PlanError, suggestion
from app.plan.modes import options_beyond, refuse_mixed, refuse_repeated
from app.plan.parser import parser

_OF_VERDICTS = ("fail_on", "markdown", "json", "junit")
"""How verdicts are told, whichever comparison they are of."""
_OF_EVERY_RUN = frozenset(
    {
        "headless",
        "study",
        "cache_limit",
        "columns",
        "export",
        "plot",
        "sort",
        "strict",
        "verbose",
        "debug",
        "baseline_run",
        *_OF_VERDICTS,
    }
)
"""What may be said of any run; all other flags are of its plan, or other commands."""
_OF_EVERY_STUDY = frozenset(
    {"headless", "study", "cache_limit", "columns", "export", "strict", "debug"}
)
_OF_A_NEW_STUDY = frozenset(
    {
        "models",
        "runtimes",
        "batch",
        "precision",
        "threads",
        "null",
        "cluster",
        "per_host",
        "send_code",
        "insecure_cluster",
        "environment",
        "profile",
        "rounds",
        "budget",
        "time_limit",
        "memory_limit",
        "seed",
        "cores",
        "lock_memory",
        "realtime",
        "out",
    }
)
"""A part of it, how long, where, and the settings that a study may leave open."""


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
    if flags.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, ["slower"])
        )
    return flags


def refuse_with_resume(flags: argparse.Namespace) -> None:
    """A resumed run repeats its own plan, so of that only the budget can be given anew, and where
    it is measured; PlanError for all else."""
    allowed = _OF_EVERY_RUN | {"resume", "budget", "cluster", "send_code", "insecure_cluster"}
    _refuse_but(allowed, flags, "the run in --resume")


def refuse_with_study(flags: argparse.Namespace) -> None:
    """A study says what it measures, and of a run that is there all is said; PlanError for more."""
    if flags.resume is not None:
        _refuse_but(_OF_EVERY_STUDY | {"resume"}, flags, "the run in --resume")
    elif flags.paths:
        _refuse_but({"study", "debug"}, flags, f"the run {flags.paths[0]}")
    else:
        _refuse_but(_OF_EVERY_STUDY | _OF_A_NEW_STUDY, flags, f"the study {flags.study}")
    if len(flags.paths) > 1:
        raise PlanError(f"--study pages one run, and {len(flags.paths)} are named", "name one")


def refuse_with_check(flags: argparse.Namespace) -> None:
    """What tells or compares figures has none to tell of a check; PlanError."""
    for name in (
        "baseline_run",
        "fail_on",
        "band",
        "judge",
        "json",
        "junit",
        "plot",
        "sort",
        "export",
    ):
        if getattr(flags, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise PlanError(f"{flag} is of figures, and a check has none", f"leave {flag} out")


def refuse_unprinted(flags: argparse.Namespace, is_tuned: bool) -> None:
    """What belongs to the table of rows, where another answer is printed in its place; PlanError.

    `is_tuned` says that the run searches options and prints a ladder.
    """
    if is_tuned and flags.sort is not None:
        raise PlanError(
            "--sort has no effect: a search over options prints its steps", "Leave --sort out"
        )
    if is_tuned and flags.baseline_run is not None:
        raise PlanError(
            "--baseline-run has no effect: a search over options prints its steps",
            "Leave --baseline-run out, and use --compare on the two runs",
        )
    if flags.markdown and flags.sort is not None:
        raise PlanError(
            "--sort has no effect: --markdown prints the comparison and no rows",
            "Leave out --sort or --markdown",
        )


def refuse_with_run_as_plan(flags: argparse.Namespace) -> None:
    """A run that is repeated likewise; only where to is new."""
    _refuse_but(_OF_EVERY_RUN | {"plan", "out"}, flags, "the run in --plan")


def _refuse_but(allowed: Collection[str], flags: argparse.Namespace, settler: str) -> None:
    for flag in options_beyond(allowed, flags):
        raise PlanError(f"{flag} says what {settler} has settled", "leave it out")
