"""The plan that the options of a command line amount to, and the origin of each setting."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.machine.installed_runtimes import all_names
from app.machine.placement import listed, usable_cores
from app.plan.command_line import given_settings
from app.plan.configuration import Configuration, configurations
from app.plan.exclusions import reject_without_effect
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, toml_value
from app.plan.settings.setting import Setting
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, accepted_by
from app.plan.studies import adjusted, load_study, refuse_fixed, shipped_plan, with_devices
from app.tune.space import threads_of
from exporters.types import PRECISIONS
from runtimes.registry import environment_of

_COMPILED = frozenset(row.key for row in accepted_by("check")) | {"name", "sweeps"}
"""The keys that a check reads, of the plan and of its grids."""


def of_a_check(data: dict[str, Any]) -> dict[str, Any]:
    """Of a suite's or a plan's values those that a check takes."""
    kept = {key: value for key, value in data.items() if key in _COMPILED}
    grids = [{k: v for k, v in grid.items() if k in _COMPILED} for grid in data["sweeps"]]
    return {**kept, "sweeps": grids}


ALL_RUNTIMES = "all"
"""Stands for every runtime of the table, here or not."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Values of a plan by their keys: those of the command line, of the plan that it names, and of
    the configuration files, the one that counts first in front."""

    grid: Mapping[str, Any]
    whole: Mapping[str, Any]
    named: Mapping[str, Any]
    """The data of a suite, a plan file or a study; empty without one."""
    origin: str
    """What names the plan: `--suite starter`."""
    files: Sequence[Configuration]


def plan_from_options(options: argparse.Namespace) -> Plan:
    """The plan of --suite, --plan or --study with other options laid over it, or of options alone.

    A list that an option gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names. Of --study the lists in `CHANGED` of
    `app.plan.studies` are replaced unless the study fixes them. Configuration files give what none
    of these has.
    A command may have no --study, --suite or --plan.
    """
    layers = layers_of(options)
    plan = parse_plan(plan_data(layers, getattr(options, "study", None)), "the command line")
    reject_without_effect(plan, {*layers.grid, *layers.whole})
    return plan


def layers_of(options: argparse.Namespace) -> Layers:
    """What gives a plan its values; PlanError for words and files that can't be understood."""
    study, suite, file = (getattr(options, name, None) for name in ("study", "suite", "plan"))
    if suite and file:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    whole = given_settings(options, "plan")
    named: dict[str, Any] = {}
    if study is not None:
        named, origin = load_study(study).model_dump(exclude_unset=True), f"--study {study}"
    elif suite:
        named, origin = shipped_plan(suite).model_dump(exclude_unset=True), f"--suite {suite}"
    elif file:
        named, origin = load_plan(Path(file)).model_dump(exclude_unset=True), f"--plan {file}"
    else:
        origin = ""
    is_check = "check" in whole
    if is_check and named:
        named = of_a_check(named)
    command = "check" if is_check else "study" if study is not None else "run"
    accepted = frozenset(row.key for row in accepted_by(command))
    files = [file.only(accepted) for file in configurations(getattr(options, "config", None))]
    return Layers(_of_each_grid(options), whole, named, origin, files)


def plan_data(layers: Layers, study: str | None) -> dict[str, Any]:
    """The values of the plan, each from the layer that counts first."""
    given = dict(layers.grid)
    models = given.pop("models", [])
    defaults: dict[str, Any] = {}
    usual: dict[str, Any] = {}
    for file in reversed(layers.files):
        defaults |= file.plan
        usual |= file.sweep
    usual_models = usual.pop("models", [])
    data = dict(layers.named)
    if data:
        _refuse_absent(models, data["sweeps"])
        sweeps = kept_grids(data["sweeps"], models)
    else:
        sweeps = [{"models": models or usual_models}]
    if study is not None:
        refuse_fixed(study, given)
        named = {"runtimes": usual["runtimes"]} if "runtimes" in usual else {}
        sweeps = [
            part for grid in sweeps for part in with_devices(adjusted({**named, **grid}, given))
        ]
    elif not data and not sweeps[0]["models"]:
        raise PlanError("there is nothing to measure", "name a model, a suite or a plan")
    else:
        sweeps = [{**usual, **grid, **given} for grid in sweeps]
    if "environments" in defaults:
        defaults["environments"] = _named_environments(defaults["environments"], sweeps)
    is_free = study is not None or "tune" in layers.whole or "tune" not in layers.named
    data = {**defaults, **data, **layers.whole}
    if is_free and data.get("tune"):
        free = _freedoms(data)
        sweeps = [{**free, **grid} for grid in sweeps]
    return {**data, "sweeps": sweeps}


def _named_environments(
    environments: Mapping[str, str], sweeps: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Of a file's environments those that runtimes name: a plan has no others."""
    used = {environment_of(text) for grid in sweeps for text in grid.get("runtimes", ())}
    return {name: python for name, python in environments.items() if name in used}


def _of_each_grid(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say of every grid, with the runtimes that `all` stands for."""
    return with_all_runtimes(given_settings(options, "sweep"))


def with_all_runtimes(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a grid with the runtimes that `all` stands for."""
    if "runtimes" not in given:
        return dict(given)
    named = [all_names() if word == ALL_RUNTIMES else (word,) for word in given["runtimes"]]
    return {**given, "runtimes": list(dict.fromkeys(name for names in named for name in names))}


def _freedoms(whole: Mapping[str, Any]) -> dict[str, Any]:
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


def kept_grids(grids: Sequence[dict[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """The grids with these of their models, or with all of them; none without any."""
    kept = (
        {**grid, "models": [name for name in grid["models"] if not models or name in models]}
        for grid in grids
    )
    return [grid for grid in kept if grid["models"]]


def _refuse_absent(models: Sequence[str], grids: Sequence[dict[str, Any]]) -> None:
    known = list(dict.fromkeys(model for grid in grids for model in grid["models"]))
    for model in models:
        if model not in known:
            raise PlanError(f"the plan has no model {model!r}", suggestion(model, known))


def config_text(options: argparse.Namespace) -> str:
    """A line for each setting, as a plan file has it, with its origin as a comment."""
    return "\n".join(_lines(plan_from_options(options), layers_of(options))) + "\n"


def _lines(plan: Plan, layers: Layers) -> Iterator[str]:
    whole = plan.model_dump(mode="json")
    for row in PLAN_SETTINGS:
        sources = {"command line": layers.whole, layers.origin: layers.named}
        files = {file.origin: file.plan for file in layers.files}
        yield _line(row, whole[row.key], {**sources, **files})
    grids = kept_grids(layers.named.get("sweeps", ()), layers.grid.get("models", ()))
    nothing: dict[str, Any] = {}
    for grid, named in zip_longest(whole["sweeps"], grids, fillvalue=nothing):
        yield "\n[[sweeps]]"
        for row in SWEEP_SETTINGS:
            sources = {"command line": layers.grid, layers.origin: named}
            files = {file.origin: file.sweep for file in layers.files}
            yield _line(row, grid[row.key], {**sources, **files})


def _line(row: Setting, value: Any, sources: Mapping[str, Mapping[str, Any]]) -> str:
    origin = next((name for name, values in sources.items() if row.key in values), "default")
    shown = "" if value is None else toml_value(value)
    return f"{row.name} = {shown}  # {origin}" if shown else f"# {row.name}: none  # {origin}"
