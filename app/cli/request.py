"""What a command line asks for: a plan, and a line about it before anything else is looked at.

The modules that look, measure and answer take longer to import than this one, and come after it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cases.errors import PlanError
from app.formatting.case_labels import model_labels
from app.formatting.text import counted, printable
from app.machine.release_environments import ReleaseEnvironment, create, environments_folder
from app.plan.command import flags_of, graphlap_line
from app.plan.command_line import explicit_settings, reject_with_check, reject_with_run_as_plan
from app.plan.exclusions import reject_exclusions, reject_without_effect
from app.plan.options import config_text, layers_of, layers_of_run, origin_of, plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.runtime_selection import missing_releases, with_default_runtimes
from app.plan.settings.table import by_key
from app.present.console.streams import ResilientStream
from app.run_folder.manifest import Manifest
from exporters.diagnostics import listing

if TYPE_CHECKING:
    from app.present.console.answer.outcome import Then

_OWN_FILES = ("resume", "plan", "against", "history", "json", "junit", "plot")
"""The options that name a file or a folder, of a run that is resumed or repeated."""


def run_headless(flags: argparse.Namespace, then: Then | None = None) -> int:
    """Measure what the flags ask for; returns the exit code. `then` tells of the run in place of
    our own answer, and its code holds where all else is well.

    Raises PlanError or ResultsError before anything is written.
    """
    manifest = _resumed_manifest(flags)
    plan = _requested_plan(flags, manifest)
    if manifest is None and not (flags.quiet or flags.show_config):
        log = ResilientStream(sys.stderr)
        log.write(f"{printable(_first_line(plan))}\n")
        log.flush()
    if manifest is None and flags.models_named:
        plan = with_default_runtimes(plan)
    named = flags.resume or flags.plan
    layers = layers_of(flags) if manifest is None else layers_of_run(plan, named)
    if flags.show_config:
        sys.stdout.write(config_text(plan, layers))
        return 0
    reject_without_effect(plan, explicit_settings(flags, "command"))
    if plan.check:
        is_command = "check" in layers.plan_values
        reject_with_check(flags, "" if is_command else origin_of(by_key()["check"], layers))
    from app.cli.headless import run_plan

    if manifest is not None:
        flags = _with_absolute_paths(flags, manifest.requested_plan)
    _make_missing(plan, flags.install)
    return run_plan(flags, plan, layers, manifest, then)


def _first_line(plan: Plan) -> str:
    """`reading net.onnx, to measure 4 rounds of each case on ort-cpu`."""
    named = [model for grid in plan.sweeps for model in grid.models]
    # A pattern is told whole: it may stand for a folder, and can be given in its place.
    labels = {**model_labels(named), **{model: model for model in named if "*" in model}}
    specs = dict.fromkeys(spec for grid in plan.sweeps for spec in grid.runtimes)
    models, runtimes = (
        listing([*names]) if len(names) <= 3 else counted(len(names), noun)
        for names, noun in ((labels.values(), "model"), (specs, "runtime"))
    )
    rounds = f"{counted(plan.least_rounds, 'round')}{' or more' * plan.has_open_end}"
    work = "check" if plan.check else "search" if plan.is_search else f"measure {rounds} of"
    return f"reading {models}, to {work} each case on {runtimes or 'the engines found'}"


def _resumed_manifest(flags: argparse.Namespace) -> Manifest | None:
    """The manifest of the run that the flags have resumed or repeated; None for a new plan."""
    if flags.resume is None and not (flags.plan is not None and Path(flags.plan).is_dir()):
        return None
    from app.sweep.resumption import resumable_manifest

    manifest = resumable_manifest(Path(flags.resume or flags.plan))
    if flags.resume is not None:
        return _with_budget(manifest, explicit_settings(flags, "plan"))
    reject_with_run_as_plan(flags)
    return manifest


def _with_budget(manifest: Manifest, new_settings: Mapping[str, Any]) -> Manifest:
    """The manifest with a budget of its own for the rounds that are missing; PlanError for a check,
    which takes none."""
    if "budget_s" not in new_settings:
        return manifest
    if manifest.requested_plan.check:
        raise PlanError("--budget is for rounds, and a check measures none", "Leave --budget out")
    plan = {**manifest.plan, "budget_s": new_settings["budget_s"]}
    parse_plan(plan, "the command line")
    return replace(manifest, plan=plan)


def _with_absolute_paths(flags: argparse.Namespace, plan: Plan) -> argparse.Namespace:
    """With the command's own files as they are named here: a run is worked on in its own folder,
    and repeated as its `plan` says in a new one."""
    from app.sweep.run_creation import new_path

    file_options = {name: getattr(flags, name) for name in _OWN_FILES}
    if flags.resume is None:
        file_options["out"] = flags.out or str(new_path(plan))
    paths = {name: str(Path(path).absolute()) for name, path in file_options.items() if path}
    return argparse.Namespace(**{**vars(flags), **paths})


def _requested_plan(flags: argparse.Namespace, manifest: Manifest | None) -> Plan:
    """The plan of the flags, or that of the run which they name; one that is resumed may go on
    elsewhere than it began."""
    if manifest is None:
        return plan_from_options(flags)
    if flags.resume is None:
        return manifest.requested_plan
    resumed = manifest.requested_plan.model_copy(update=explicit_settings(flags, "plan"))
    reject_exclusions(resumed)
    return resumed


def _make_missing(plan: Plan, agreed: bool) -> None:
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
