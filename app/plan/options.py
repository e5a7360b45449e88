"""The plan that the options of a command line amount to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.machine.available import all_names
from app.machine.cores import listed, usable_cores
from app.plan.checking import of_a_check
from app.plan.exclusions import reject_without_effect
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, load_suite
from app.plan.settings.arguments import given_settings
from app.plan.studies import adjusted, load_study, refuse_fixed, with_devices
from app.tune.values import threads_of
from exporters.types import PRECISIONS

ALL_RUNTIMES = "all"
"""Stands for every runtime of the table, here or not."""


def plan_from_options(options: argparse.Namespace) -> Plan:
    """The plan of --suite, --plan or --study with other options laid over it, or of options alone.

    A list that an option gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names. Of --study the lists in `CHANGED` of
    `app.plan.studies` are replaced unless the study fixes them. A command may have no --study,
    --suite or --plan.
    """
    study, suite, file = (getattr(options, name, None) for name in ("study", "suite", "plan"))
    if suite and file:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    given = _of_each_grid(options)
    whole = given_settings(options, "plan")
    models = given.pop("models", [])
    if study is not None:
        data = load_study(study).model_dump(exclude_unset=True)
        refuse_fixed(study, given)
        _refuse_absent(models, data["sweeps"])
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        named = [adjusted(grid, given) for grid in sweeps if grid["models"]]
        data["sweeps"] = [part for grid in named for part in with_devices(grid)]
    elif suite or file:
        base = load_suite(suite) if suite else load_plan(Path(str(file)))
        data = base.model_dump(exclude_unset=True)
        data = of_a_check(data) if "check" in whole else data
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        _refuse_absent(models, data["sweeps"])
        data["sweeps"] = [{**grid, **given} for grid in sweeps if grid["models"]]
    elif models:
        data = {"sweeps": [{"models": models, **given}]}
    else:
        raise PlanError("there is nothing to measure", "give --models, --suite or --plan")
    if "tune" in whole or (study and data.get("tune")):
        data["sweeps"] = [{**_freedoms(whole), **grid} for grid in data["sweeps"]]
    plan = parse_plan({**data, **whole}, "the command line")
    reject_without_effect(plan, {*given, *whole})
    return plan


def _of_each_grid(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say of every grid, with the runtimes that `all` stands for."""
    given = given_settings(options, "sweep")
    if "runtimes" in given:
        named = [all_names() if word == ALL_RUNTIMES else (word,) for word in given["runtimes"]]
        given["runtimes"] = list(dict.fromkeys(name for names in named for name in names))
    return given


def _freedoms(whole: dict[str, Any]) -> dict[str, Any]:
    """What a search may choose that a grid without it would have one value of."""
    free: dict[str, Any] = {"threads": threads_of(_cores(whole.get("cores")))}
    if "max_error" in whole:
        free["precisions"] = PRECISIONS
    return free


def _cores(text: str | None) -> int:
    try:
        return len(listed(text)) if text is not None else len(usable_cores())
    except ValueError:  # the plan says what is wrong with the list
        return 1


def _kept(grid: dict[str, Any], models: Sequence[str]) -> dict[str, Any]:
    kept = [model for model in grid["models"] if not models or model in models]
    return {**grid, "models": kept}


def _refuse_absent(models: Sequence[str], grids: Sequence[dict[str, Any]]) -> None:
    known = list(dict.fromkeys(model for grid in grids for model in grid["models"]))
    for model in models:
        if model not in known:
            raise PlanError(f"the plan has no model {model!r}", suggestion(model, known))
