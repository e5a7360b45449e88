"""The settings of a plan as options of a command, and a namespace that has all of them."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Collection
from functools import cache

from app.plan.parser import parser as every_flag

_GROUPS = ("what to measure", "of your own", "how long, and where to")
_OUTPUTS = frozenset(
    {"baseline_run", "out", "export", "columns", "sort", "strict", "verbose", "debug"}
)
"""What is written where, which is no setting of a plan."""
_OF_VERDICTS = frozenset({"band", "judge"})
_COMMON = frozenset(
    {"runtimes", "batch", "axis", "precision", "threads", "option", "scenario"}
    | {"profile", "rounds", "precise", "baseline", "budget", "cluster"}
)
_OF_A_STUDY = frozenset(
    {"models", "runtimes", "environment", "profile", "rounds", "budget", "time_limit"}
    | {"memory_limit", "seed", "cores", "lock_memory", "realtime"}
)
_OF_A_RESUMED_RUN = frozenset({"budget", "cluster", "send_code", "insecure_cluster"})
_SUBSETS = {"study": _OF_A_STUDY, "resume": _OF_A_RESUMED_RUN}
_NOT_OF_A_CHECK = frozenset({"band", "judge"})


def add_settings(
    parser: argparse.ArgumentParser,
    command: str,
    brief: bool = False,
    apart: Collection[str] = (),
) -> None:
    """Add the flags of the settings that a command accepts, but for those that it has `apart`, by
    other names; with `brief` only the common ones are in its help."""
    for group in every_flag()._action_groups:
        actions = [one for one in group._group_actions if _is_accepted(one.dest, command, apart)]
        if group.title not in (*_GROUPS, "of --compare, --baseline, --baseline-run and --history"):
            continue
        shown = any(not brief or one.dest in _COMMON for one in actions)
        to = parser.add_argument_group(group.title) if shown else parser
        for action in actions:
            added = copy.copy(action)
            if brief and action.dest not in _COMMON:
                added.help = argparse.SUPPRESS
            to._add_action(added)


def _is_accepted(dest: str, command: str, apart: Collection[str]) -> bool:
    if dest in _OUTPUTS or dest in apart:
        return False
    if dest in _OF_VERDICTS:
        return command not in ("study", "resume", "check")
    if dest in ("fail_on", "markdown", "json", "csv", "plot", "any_host", "junit"):
        return False
    subset = _SUBSETS.get(command)
    return subset is None or dest in subset


def completed(options: argparse.Namespace) -> argparse.Namespace:
    """The options, and of all that the command does not accept what holds where it is not given."""
    return argparse.Namespace(**{**_defaults(), **vars(options)})


@cache
def _defaults() -> dict[str, object]:
    return {**vars(every_flag().parse_args([])), "quiet": False, "models_named": False}
