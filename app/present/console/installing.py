"""Environments of releases that a plan names and that are not there: asked about, then made."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from app.cases.errors import PlanError
from app.machine.release_environments import ReleaseEnvironment, create, environments_folder
from app.plan.command import flags_of, graphlap_line
from app.plan.plan import Plan
from app.plan.runtime_selection import missing_releases


def make_missing(plan: Plan, agreed: bool) -> None:
    """Make the environments that the plan lacks, if that was `agreed` or a person at a terminal
    agrees now; PlanError where nobody does, and for one that can't be made."""
    missing = missing_releases(plan)
    if missing and not agreed:
        _ask(plan, missing)
    for number, environment in enumerate(missing, 1):
        packages = " ".join(environment.requirements)
        sys.stderr.write(f"installing {packages} ({number} of {len(missing)})\n")
        sys.stderr.flush()
        create(environment)


def _ask(plan: Plan, missing: Sequence[ReleaseEnvironment]) -> None:
    names = ", ".join(environment.name for environment in missing)
    packages = ", ".join(environment.requirements[0] for environment in missing)
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise PlanError(
            f"--runtimes: the environments {names} are not installed ({packages})",
            f"Install and measure with: {_command(plan)}",
        )
    sys.stderr.write(f"Install {packages} into {environments_folder()}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise PlanError(
            f"--runtimes: the environments {names} are not installed ({packages})",
            "Leave their runtimes out, or name interpreters with --python NAME=PATH",
        )


def _command(plan: Plan) -> str:
    """The command that agrees in advance; flags alone can't say a plan of several grids."""
    words = flags_of(plan) if len(plan.sweeps) == 1 else ("…",)
    return graphlap_line("check" if plan.check else "run", *words, "--install")
